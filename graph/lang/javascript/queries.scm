; JavaScript only.
(class_declaration name: (_) @of (class_heritage [(identifier) (member_expression)] @base))
(class name: (_) @of (class_heritage [(identifier) (member_expression)] @base))
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @def.field
(field_definition property: [(property_identifier) (private_property_identifier)] @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @def.method
(field_definition property: (_) @of value: (new_expression constructor: (_) @init))
(field_definition "static" property: (_) @of) @static
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @name)) @def.selffield
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @of) right: (new_expression constructor: (_) @init))
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @of) right: (identifier) @init)
(formal_parameters (identifier) @name @def.parameter)
(formal_parameters (assignment_pattern left: (identifier) @name) @def.parameter)

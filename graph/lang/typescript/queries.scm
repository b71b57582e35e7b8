; TypeScript and TSX only.
[(function_signature) (method_signature) (abstract_method_signature) (function_type) (constructor_type) (call_signature) (construct_signature)] @scope.function
[(abstract_class_declaration) (interface_declaration) (type_alias_declaration) (object_type)] @scope.class
[(internal_module) (module)] @scope.module

(class_declaration name: (_) @of (class_heritage (extends_clause value: (_) @base)))
(class_declaration name: (_) @of (class_heritage (implements_clause (_) @base)))
(abstract_class_declaration name: (_) @name body: (_) @body) @def.class
(abstract_class_declaration name: (_) @of (class_heritage (extends_clause value: (_) @base)))
(abstract_class_declaration name: (_) @of (class_heritage (implements_clause (_) @base)))
(interface_declaration name: (_) @name body: (_) @body) @def.interface
(interface_declaration name: (_) @of (extends_type_clause type: (_) @base))
(type_alias_declaration name: (_) @name) @def.type
(type_alias_declaration name: (_) @of value: [(type_identifier) (generic_type) (union_type) (nested_type_identifier)] @type)
(enum_declaration name: (_) @name body: (_) @body) @def.enum
(enum_body name: (property_identifier) @name @def.variant)
(enum_body (enum_assignment name: (property_identifier) @name) @def.variant)
(internal_module name: (identifier) @name body: (_) @body) @def.namespace
(module name: (identifier) @name body: (_) @body) @def.namespace
(function_signature name: (identifier) @name) @def.function
(method_signature name: [(property_identifier) (private_property_identifier)] @name) @def.method
(abstract_method_signature name: (property_identifier) @name) @def.method
(property_signature name: (property_identifier) @name) @def.property
(property_signature name: (property_identifier) @of type: (type_annotation (_) @type))
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @def.field
(public_field_definition name: (_) @of type: (type_annotation (_) @type))
(public_field_definition name: (_) @of value: (new_expression constructor: (_) @init))
(public_field_definition "static" name: (_) @of) @static
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @def.method
(function_declaration name: (identifier) @of return_type: (type_annotation (_) @type))
(function_signature name: (identifier) @of return_type: (type_annotation (_) @type))
(method_definition name: (_) @of return_type: (type_annotation (_) @type))
(method_signature name: (_) @of return_type: (type_annotation (_) @type))
(abstract_method_signature name: (_) @of return_type: (type_annotation (_) @type))
(variable_declarator name: (identifier) @of type: (type_annotation (_) @type))
(variable_declarator name: (identifier) @of value: (arrow_function return_type: (type_annotation (_) @type)))
(variable_declarator name: (identifier) @of value: (as_expression (_) . (_) @type .))
(required_parameter pattern: (identifier) @name) @def.parameter
(required_parameter pattern: (identifier) @of type: (type_annotation (_) @type))
(optional_parameter pattern: (identifier) @name) @def.parameter
(optional_parameter pattern: (identifier) @of type: (type_annotation (_) @type))
(required_parameter [(accessibility_modifier) "readonly"] pattern: (identifier) @name) @def.selffield
(type_parameter name: (type_identifier) @name @def.type_parameter)
(ambient_declaration (_ name: (_) @of)) @wider
(ambient_declaration (_ (variable_declarator name: (identifier) @of))) @wider
(export_statement declaration: (ambient_declaration (_ name: (_) @of))) @exported
(export_statement declaration: (ambient_declaration (_ (variable_declarator name: (_) @of)))) @exported
(class_declaration decorator: (_) name: (_) @of) @wider

(type_identifier) @ref.type
(type_query [(identifier) @ref.type (member_expression property: (_) @ref.type)])
(extends_clause value: (identifier) @ref.type)
(nested_type_identifier module: (_) @recv.path name: (type_identifier) @ref.member)
(nested_identifier object: (_) @recv.path property: (_) @ref.member)
(property_signature name: (property_identifier) @ref.member)
(method_signature name: (property_identifier) @ref.member)
(member_expression object: (non_null_expression (_) @recv) property: (_) @ref.member)
(member_expression object: (parenthesized_expression (as_expression (_) . [(type_identifier) (generic_type)] @recv.path)) property: (_) @ref.member)
(required_parameter pattern: (this) @ignore)

(import_statement (import_require_clause (identifier) @import.ns source: (string) @import.source)) @import
(import_alias (identifier) @name [(identifier) (nested_identifier)] @type) @def.type
(export_statement "=" @default (identifier) @import.name) @import.export

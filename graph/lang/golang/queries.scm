; Scopes.
[(function_declaration) (method_declaration) (func_literal) (method_elem) (function_type)] @scope.function
[(block) (if_statement) (for_statement) (expression_switch_statement) (type_switch_statement) (select_statement) (expression_case) (default_case) (type_case) (communication_case)] @scope.block
(type_spec) @scope.class

; Definitions.
(function_declaration name: (identifier) @name) @def.function
(function_declaration name: (identifier) @of body: (_) @body)
(function_declaration name: (identifier) @of result: [(type_identifier) (qualified_type) (pointer_type) (generic_type)] @type)
(function_declaration name: (identifier) @of result: (parameter_list . (parameter_declaration type: (_) @type)))
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner)) name: (field_identifier) @name) @def.method
(method_declaration name: (field_identifier) @of body: (_) @body)
(method_declaration name: (field_identifier) @of result: [(type_identifier) (qualified_type) (pointer_type) (generic_type)] @type)
(method_declaration name: (field_identifier) @of result: (parameter_list . (parameter_declaration type: (_) @type)))
(type_spec name: (type_identifier) @name) @def.type
(type_spec name: (type_identifier) @name type: (struct_type)) @def.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @def.interface
(type_spec name: (type_identifier) @of type: [(type_identifier) (qualified_type) (pointer_type)] @type)
(type_spec name: (type_identifier) @of type: (struct_type (field_declaration_list (field_declaration !name type: (_) @base))))
(type_spec name: (type_identifier) @of type: (interface_type (type_elem [(type_identifier) (qualified_type)] @base)))
(type_declaration . (type_spec name: (type_identifier) @of) .) @wider
(type_alias name: (type_identifier) @name type: (_) @type) @def.type
(method_elem name: (field_identifier) @name) @def.method
(method_elem name: (field_identifier) @of result: (_) @type)
(field_declaration name: (field_identifier) @name type: (_) @type) @def.field
(const_spec name: (identifier) @name) @def.const
(const_spec name: (identifier) @of type: (_) @type)
(var_spec name: (identifier) @name) @def.variable
(var_spec name: (identifier) @of type: (_) @type)
(var_spec name: (identifier) @of value: (expression_list . (call_expression function: [(identifier) (selector_expression)] @init)))
(short_var_declaration left: (expression_list (identifier) @name @def.variable))
(short_var_declaration left: (expression_list . (identifier) @of) right: (expression_list . (call_expression function: [(identifier) (selector_expression)] @init)))
(short_var_declaration left: (expression_list . (identifier) @of) right: (expression_list . (composite_literal type: (_) @type)))
(short_var_declaration left: (expression_list . (identifier) @of) right: (expression_list . (unary_expression operand: (composite_literal type: (_) @type))))
(range_clause left: (expression_list (identifier) @name @def.variable))
(receive_statement left: (expression_list (identifier) @name @def.variable))
(type_switch_statement alias: (expression_list (identifier) @name @def.variable))
(parameter_declaration name: (identifier) @name type: (_) @type) @def.parameter
(variadic_parameter_declaration name: (identifier) @name) @def.parameter
(type_parameter_declaration name: (identifier) @name) @def.type_parameter

; Occurrences.
[(identifier) (field_identifier) (package_identifier)] @ref
(type_identifier) @ref.type
(package_clause (package_identifier) @ignore)
(label_name) @ignore
(call_expression function: (identifier) @ref.call)
(call_expression function: (selector_expression field: (_) @ref.call))
(assignment_statement left: (expression_list (identifier) @ref.write))
(assignment_statement left: (expression_list (selector_expression field: (_) @ref.write)))
(inc_statement (identifier) @ref.write)
(dec_statement (identifier) @ref.write)
(selector_expression operand: (_) @recv field: (field_identifier) @ref.member)
(selector_expression operand: (call_expression function: (_) @recv.call) field: (field_identifier) @ref.member)
(selector_expression operand: (unary_expression (composite_literal type: (_) @recv.path)) field: (field_identifier) @ref.member)
(selector_expression operand: (composite_literal type: (_) @recv.path) field: (field_identifier) @ref.member)
(qualified_type package: (package_identifier) @recv.path name: (type_identifier) @ref.member)
(composite_literal type: (_) @recv.path body: (literal_value (keyed_element . (literal_element (identifier) @ref.member))))

; Imports.
(import_spec path: (_) @import.source) @import
(import_spec name: (package_identifier) @import.ns path: (_) @import.source) @import
(import_spec name: (dot) @import.star path: (_) @import.source) @import

(comment) @comment

; Scopes.
[(function_item) (closure_expression) (function_signature_item)] @scope.function
[(block) (match_arm) (for_expression) (if_expression) (while_expression)] @scope.block
[(impl_item) (trait_item) (struct_item) (enum_item) (union_item) (type_item)] @scope.class
(mod_item body: (_)) @scope.module

; Definitions.
(function_item name: (identifier) @name body: (_) @body) @def.function
(function_item name: (identifier) @of return_type: (_) @type)
(function_signature_item name: (identifier) @name) @def.function
(function_signature_item name: (identifier) @of return_type: (_) @type)
(struct_item name: (type_identifier) @name) @def.struct
(struct_item name: (type_identifier) @of body: (field_declaration_list) @body)
(enum_item name: (type_identifier) @name body: (_) @body) @def.enum
(enum_variant name: (identifier) @name) @def.variant
(union_item name: (type_identifier) @name body: (_) @body) @def.union
(trait_item name: (type_identifier) @name body: (_) @body) @def.trait
(trait_item name: (type_identifier) @of bounds: (trait_bounds [(type_identifier) (scoped_type_identifier) (generic_type)] @base))
(impl_item type: (type_identifier) @name body: (_) @body) @def.impl
(impl_item type: (generic_type type: (type_identifier) @name) body: (_) @body) @def.impl
(impl_item type: (scoped_type_identifier name: (type_identifier) @name) body: (_) @body) @def.impl
(impl_item type: (generic_type type: (scoped_type_identifier name: (type_identifier) @name)) body: (_) @body) @def.impl
(impl_item type: (reference_type type: (type_identifier) @name) body: (_) @body) @def.impl
(impl_item trait: (_) @base type: (type_identifier) @of)
(impl_item trait: (_) @base type: (generic_type type: (type_identifier) @of))
(impl_item trait: (_) @base type: (scoped_type_identifier name: (type_identifier) @of))
(const_item name: (identifier) @name) @def.const
(const_item name: (identifier) @of type: (_) @type)
(static_item name: (identifier) @name) @def.static
(static_item name: (identifier) @of type: (_) @type)
(type_item name: (type_identifier) @name) @def.type
(type_item name: (type_identifier) @of type: (_) @type)
(associated_type name: (type_identifier) @name) @def.type
(macro_definition name: (identifier) @name) @def.macro
(mod_item name: (identifier) @name body: (_) @body) @def.module
(field_declaration name: (field_identifier) @name type: (_) @type) @def.field
(let_declaration pattern: (identifier) @name) @def.variable
(let_declaration pattern: (identifier) @of type: (_) @type)
(let_declaration pattern: (identifier) @of value: (call_expression function: [(identifier) (scoped_identifier) (field_expression)] @init))
(let_declaration pattern: (identifier) @of value: (try_expression (call_expression function: [(identifier) (scoped_identifier) (field_expression)] @init)))
(let_declaration pattern: (identifier) @of value: (await_expression (call_expression function: [(identifier) (scoped_identifier) (field_expression)] @init)))
(let_declaration pattern: (identifier) @of value: (struct_expression name: (_) @type))
(let_declaration pattern: (identifier) @of value: (reference_expression value: (struct_expression name: (_) @type)))
(tuple_pattern (identifier) @name @def.variable)
(slice_pattern (identifier) @name @def.variable)
(tuple_struct_pattern type: (_) (identifier) @name @def.variable)
(ref_pattern (identifier) @name @def.variable)
(mut_pattern (identifier) @name @def.variable)
(reference_pattern (identifier) @name @def.variable)
(captured_pattern . (identifier) @name @def.variable)
(or_pattern (identifier) @name @def.variable)
(match_pattern . (identifier) @name @def.variable)
(field_pattern name: (shorthand_field_identifier) @name @def.variable)
(field_pattern pattern: (identifier) @name @def.variable)
(for_expression pattern: (identifier) @name @def.variable)
(let_condition pattern: (identifier) @name @def.variable)
(parameter pattern: (identifier) @name type: (_) @type) @def.parameter
(parameter pattern: (mut_pattern (identifier) @name) type: (_) @type) @def.parameter
(closure_parameters (identifier) @name @def.parameter)
(type_parameters (type_parameter name: (type_identifier) @name @def.type_parameter))
(type_parameter name: (type_identifier) @of bounds: (trait_bounds . [(type_identifier) (scoped_type_identifier) (generic_type)] @type))
(const_parameter name: (identifier) @name @def.type_parameter)
((visibility_modifier) @exported . (function_modifiers)? . (identifier) @of)
((visibility_modifier) @exported . (type_identifier) @of)

; Occurrences.
[(identifier) (field_identifier) (shorthand_field_identifier) (crate) (super)] @ref
(type_identifier) @ref.type
(lifetime (identifier) @ignore)
(label (identifier) @ignore)
(metavariable) @ignore
(visibility_modifier [(crate) (super) (self)] @ignore)
(call_expression function: (identifier) @ref.call)
(call_expression function: (scoped_identifier name: (identifier) @ref.call))
(call_expression function: (field_expression field: (field_identifier) @ref.call))
(call_expression function: (generic_function function: (identifier) @ref.call))
(call_expression function: (generic_function function: (scoped_identifier name: (identifier) @ref.call)))
(call_expression function: (generic_function function: (field_expression field: (field_identifier) @ref.call)))
(macro_invocation macro: (identifier) @ref.call)
(macro_invocation macro: (scoped_identifier name: (identifier) @ref.call))
(struct_expression name: (type_identifier) @ref.call)
(assignment_expression left: (identifier) @ref.write)
(assignment_expression left: (field_expression field: (field_identifier) @ref.write))
(compound_assignment_expr left: (identifier) @ref.write)
(compound_assignment_expr left: (field_expression field: (field_identifier) @ref.write))
(field_expression value: (_) @recv field: (field_identifier) @ref.member)
(field_expression value: (call_expression function: (_) @recv.call) field: (field_identifier) @ref.member)
(field_expression value: (try_expression (call_expression function: (_) @recv.call)) field: (field_identifier) @ref.member)
(field_expression value: (await_expression (call_expression function: (_) @recv.call)) field: (field_identifier) @ref.member)
(scoped_identifier path: (_) @recv.path name: (identifier) @ref.member)
(scoped_identifier path: (self) @ref)
(scoped_identifier path: (_) @recv.path name: (super) @ref.member)
(scoped_type_identifier path: (_) @recv.path name: (type_identifier) @ref.member)
(scoped_type_identifier path: (self) @ref)
(struct_expression name: (_) @recv.path body: (field_initializer_list (field_initializer field: (field_identifier) @ref.member)))
(struct_pattern type: (_) @recv.path (field_pattern name: (field_identifier) @ref.member))
(token_tree [(identifier) (crate) (super)] @ref.text)
(attribute (identifier) @ignore)
(attribute_item (attribute (identifier) (token_tree (identifier) @ref.text)))
(macro_definition (macro_rule (token_tree_pattern (_) @ignore)))

; Imports.
(use_declaration argument: (_) @import.raw)
(mod_item name: (identifier) @import.name !body) @import.mod
((attribute_item (attribute (identifier) @import.fn value: (string_literal (string_content) @import.source))) . (mod_item name: (identifier) @import.name !body) @import.mod)
(extern_crate_declaration name: (identifier) @import.module) @import
(extern_crate_declaration name: (identifier) @import.module alias: (identifier) @import.alias) @import

[(line_comment) (block_comment)] @comment
(attribute_item) @attribute

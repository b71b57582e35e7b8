; What JavaScript, TypeScript and TSX share.

; Scopes.
[(function_declaration) (generator_function_declaration) (function_expression) (generator_function) (arrow_function) (method_definition) (class_static_block)] @scope.function
[(statement_block) (for_statement) (for_in_statement) (catch_clause) (switch_body)] @scope.block
[(class_declaration) (class)] @scope.class

; Definitions.
(function_declaration name: (identifier) @name body: (_) @body) @def.function
(generator_function_declaration name: (identifier) @name body: (_) @body) @def.function
(function_expression name: (identifier) @name body: (_) @body) @def.function
(class_declaration name: (_) @name body: (_) @body) @def.class
(class name: (_) @name body: (_) @body) @def.class
(method_definition name: [(property_identifier) (private_property_identifier)] @name body: (_) @body) @def.method
(method_definition "static" name: (_) @of) @static
(variable_declarator name: (identifier) @name) @def.variable
(lexical_declaration kind: "const" (variable_declarator name: (identifier) @name) @def.const)
(lexical_declaration . (variable_declarator name: (identifier) @of) .) @wider
(variable_declaration . (variable_declarator name: (identifier) @of) .) @wider
(variable_declarator name: (identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]) @def.function
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @def.class
(variable_declarator name: (identifier) @of value: (new_expression constructor: (_) @init))
(variable_declarator name: (identifier) @of value: (call_expression function: [(identifier) (member_expression)] @init))
(variable_declarator name: (identifier) @of value: (await_expression (call_expression function: [(identifier) (member_expression)] @init)))
(object_pattern (shorthand_property_identifier_pattern) @name @def.variable)
(object_assignment_pattern left: (shorthand_property_identifier_pattern) @name @def.variable)
(pair_pattern value: (identifier) @name @def.variable)
(pair_pattern value: (assignment_pattern left: (identifier) @name @def.variable))
(array_pattern (identifier) @name @def.variable)
(array_pattern (assignment_pattern left: (identifier) @name @def.variable))
(rest_pattern (identifier) @name @def.variable)
(arrow_function parameter: (identifier) @name @def.parameter)
(catch_clause parameter: (identifier) @name @def.variable)
(for_in_statement kind: _ left: (identifier) @name @def.variable)
(pair key: (property_identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @def.method
(variable_declarator value: (object (pair key: (property_identifier) @name value: (_)) @def.property))
(variable_declarator value: (object (pair value: (object (pair key: (property_identifier) @name value: (_)) @def.property))))

; Exports.
(export_statement declaration: (_ name: (_) @of)) @wider @exported
(export_statement declaration: (_ (variable_declarator name: (identifier) @of))) @exported
(export_statement declaration: (_ . (variable_declarator name: (identifier) @of) .)) @wider
(export_statement declaration: (_ (variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @of)))) @exported
(export_statement "default" @default declaration: (_ name: (_) @of))
(export_statement "default" @default @name value: [(arrow_function body: (_) @body) (function_expression !name body: (_) @body)]) @def.function
(export_statement "default" @default @name value: (class !name body: (_) @body)) @def.class
(export_statement "default" @default @name value: [(object) (call_expression) (new_expression) (array) (string) (template_string) (number) (member_expression)]) @def.variable
(export_statement "default" @default value: (identifier) @import.name) @import.export
(export_statement (export_clause (export_specifier name: (_) @import.name)) source: (string) @import.source) @import.reexport
(export_statement (export_clause (export_specifier name: (_) @import.name alias: (_) @import.alias)) source: (string) @import.source) @import.reexport
(export_statement (export_clause (export_specifier name: (_) @import.name)) !source) @import.export
(export_statement (export_clause (export_specifier name: (_) @import.name alias: (_) @import.alias)) !source) @import.export
(export_statement "*" @import.star source: (string) @import.source) @import.reexport
(export_statement (namespace_export (_) @import.ns) source: (string) @import.source) @import.reexport

; CommonJS.
(assignment_expression left: (member_expression object: [(identifier) (member_expression)] @cjs property: (property_identifier) @name) right: (_)) @def.variable @exported
(assignment_expression left: (member_expression object: [(identifier) (member_expression)] @cjs property: (property_identifier) @name) right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @def.function @exported
(assignment_expression left: (member_expression object: [(identifier) (member_expression)] @cjs property: (property_identifier) @name) right: (class body: (_) @body)) @def.class @exported
(assignment_expression left: (member_expression object: (identifier) property: (property_identifier) @default) @cjs right: (identifier) @import.name) @import.export
(assignment_expression left: (member_expression object: (identifier)) @cjs right: (object (shorthand_property_identifier) @import.name)) @import.export
(assignment_expression left: (member_expression object: (identifier)) @cjs right: (object (pair key: (property_identifier) @import.alias value: (identifier) @import.name))) @import.export
(assignment_expression left: (member_expression object: (identifier)) @cjs right: (object (pair key: (property_identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @def.function @exported))
(assignment_expression left: (member_expression object: (identifier)) @cjs right: (object (method_definition name: (property_identifier) @name body: (_) @body) @def.function @exported))

; Occurrences.
[(identifier) (property_identifier) (private_property_identifier) (shorthand_property_identifier) (shorthand_property_identifier_pattern)] @ref
(call_expression function: (identifier) @ref.call)
(call_expression function: (member_expression property: (_) @ref.call))
(new_expression constructor: (identifier) @ref.call)
(new_expression constructor: (member_expression property: (_) @ref.call))
(assignment_expression left: (identifier) @ref.write)
(assignment_expression left: (member_expression property: (_) @ref.write))
(augmented_assignment_expression left: (identifier) @ref.write)
(augmented_assignment_expression left: (member_expression property: (_) @ref.write))
(update_expression argument: (identifier) @ref.write)
(update_expression argument: (member_expression property: (_) @ref.write))
(member_expression object: (_) @recv property: (_) @ref.member)
(member_expression object: (call_expression function: (_) @recv.call) property: (_) @ref.member)
(member_expression object: (new_expression constructor: (_) @recv.call) property: (_) @ref.member)
(member_expression object: (parenthesized_expression (await_expression (call_expression function: (_) @recv.call))) property: (_) @ref.member)
(pair key: (property_identifier) @ref.member)
(pair_pattern key: (property_identifier) @ref.member)

; Imports.
(import_statement (import_clause (identifier) @import.default) source: (string) @import.source) @import
(import_statement (import_clause (namespace_import (identifier) @import.ns)) source: (string) @import.source) @import
(import_statement (import_clause (named_imports (import_specifier name: (_) @import.name))) source: (string) @import.source) @import
(import_statement (import_clause (named_imports (import_specifier name: (_) @import.name alias: (_) @import.alias))) source: (string) @import.source) @import
(import_statement source: (string) @import.source) @import
(call_expression function: (import) arguments: (arguments . (string) @import.source)) @import.dynamic
(call_expression function: (identifier) @import.fn arguments: (arguments . (string) @import.source)) @import.dynamic
(variable_declarator name: (identifier) @import.ns value: (call_expression function: (identifier) @import.fn arguments: (arguments . (string) @import.source))) @import.dynamic
(variable_declarator name: (identifier) @import.ns value: (await_expression (call_expression function: (import) arguments: (arguments . (string) @import.source)))) @import.dynamic
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @import.name) value: (call_expression function: (identifier) @import.fn arguments: (arguments . (string) @import.source))) @import.dynamic
(variable_declarator name: (object_pattern (pair_pattern key: (property_identifier) @import.name value: (identifier) @import.alias)) value: (call_expression function: (identifier) @import.fn arguments: (arguments . (string) @import.source))) @import.dynamic
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @import.name) value: (await_expression (call_expression function: (import) arguments: (arguments . (string) @import.source)))) @import.dynamic

(comment) @comment

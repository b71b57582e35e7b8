; Scopes. Python has no block scopes, except comprehensions.
[(function_definition) (lambda)] @scope.function
(class_definition) @scope.class
[(list_comprehension) (set_comprehension) (dictionary_comprehension) (generator_expression)] @scope.block

; Definitions.
(function_definition name: (identifier) @name body: (_) @body) @def.function
(function_definition name: (identifier) @of return_type: (type) @type)
(class_definition name: (identifier) @name body: (_) @body) @def.class
(class_definition name: (identifier) @of superclasses: (argument_list [(identifier) (attribute) (subscript)] @base))
(decorated_definition definition: (_ name: (identifier) @of)) @wider
(function_definition name: (identifier) @of body: (block . (expression_statement (string) @doc)))
(class_definition name: (identifier) @of body: (block . (expression_statement (string) @doc)))
(type_alias_statement left: (type (identifier) @name)) @def.type
(function_definition type_parameters: (type_parameter (type (identifier) @name @def.type_parameter)))
(class_definition type_parameters: (type_parameter (type (identifier) @name @def.type_parameter)))
(type_parameter (type (constrained_type . (type (identifier) @name @def.type_parameter))))

(assignment left: (identifier) @name) @def.variable
(assignment left: (identifier) @of type: (type) @type)
(assignment left: (identifier) @of right: (call function: [(identifier) (attribute)] @init))
(assignment left: (identifier) @of right: (await (call function: [(identifier) (attribute)] @init)))
(assignment left: [(pattern_list (identifier) @name @def.variable) (tuple_pattern (identifier) @name @def.variable) (list_pattern (identifier) @name @def.variable)])
(pattern_list (list_splat_pattern (identifier) @name @def.variable))
(tuple_pattern (identifier) @name @def.variable)
(named_expression name: (identifier) @name) @def.variable
(for_statement left: (identifier) @name @def.variable)
(for_statement left: (pattern_list (identifier) @name @def.variable))
(for_in_clause left: (identifier) @name @def.variable)
(for_in_clause left: (pattern_list (identifier) @name @def.variable))
(as_pattern_target (identifier) @name @def.variable)
(with_item value: (as_pattern (call function: [(identifier) (attribute)] @init) alias: (as_pattern_target (identifier) @of)))
(as_pattern alias: (as_pattern_target (tuple (identifier) @name @def.variable)))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @name)) @def.selffield
(assignment left: (attribute attribute: (identifier) @of) type: (type) @type)
(assignment left: (attribute attribute: (identifier) @of) right: (call function: [(identifier) (attribute)] @init))
(assignment left: (attribute attribute: (identifier) @of) right: (identifier) @init)
(case_pattern (dotted_name . (identifier) @name @def.variable .))
(splat_pattern (identifier) @name @def.variable)

(parameters (identifier) @name @def.parameter)
(lambda_parameters (identifier) @name @def.parameter)
(default_parameter name: (identifier) @name) @def.parameter
(typed_parameter . (identifier) @name type: (type) @type) @def.parameter
(typed_parameter . (list_splat_pattern (identifier) @name)) @def.parameter
(typed_parameter . (dictionary_splat_pattern (identifier) @name)) @def.parameter
(typed_default_parameter name: (identifier) @name type: (type) @type) @def.parameter
(parameters (list_splat_pattern (identifier) @name @def.parameter))
(parameters (dictionary_splat_pattern (identifier) @name @def.parameter))
(lambda_parameters (list_splat_pattern (identifier) @name @def.parameter))
(lambda_parameters (dictionary_splat_pattern (identifier) @name @def.parameter))

; Occurrences.
(identifier) @ref
(call function: (identifier) @ref.call)
(call function: (attribute attribute: (identifier) @ref.call))
(decorator (identifier) @ref.call)
(decorator (attribute attribute: (identifier) @ref.call))
(type (identifier) @ref.type)
(type (string (string_content) @ref.word))
(type (subscript subscript: (string (string_content) @ref.word)))
(assignment left: (identifier) right: (subscript value: (_) subscript: (string (string_content) @ref.class)))
(assignment left: (identifier) right: (subscript value: (_) subscript: (list (string (string_content) @ref.class))))
(augmented_assignment left: (identifier) @ref.write)
(assignment left: (identifier) @all right: [(list (string (string_content) @ref)) (tuple (string (string_content) @ref))])
(augmented_assignment left: (identifier) @all right: [(list (string (string_content) @ref)) (tuple (string (string_content) @ref))])
(assignment left: (attribute attribute: (identifier) @ref.write))
(augmented_assignment left: (attribute attribute: (identifier) @ref.write))
(attribute object: (_) @recv attribute: (identifier) @ref.member)
(attribute object: (call function: (_) @recv.call) attribute: (identifier) @ref.member)
(keyword_argument name: (identifier) @ref.member)
(call function: (_) @recv.arg arguments: (argument_list (keyword_argument name: (identifier) @ref.member)))
(case_pattern (dotted_name (identifier) @ref . (identifier) @ref.member))

; Imports.
(import_statement name: (dotted_name) @import.module) @import
(import_statement name: (aliased_import name: (dotted_name) @import.module alias: (identifier) @import.alias)) @import
(import_from_statement module_name: (_) @import.source name: (dotted_name) @import.name) @import
(import_from_statement module_name: (_) @import.source name: (aliased_import name: (dotted_name) @import.name alias: (identifier) @import.alias)) @import
(import_from_statement module_name: (_) @import.source (wildcard_import) @import.star) @import

(comment) @comment

; Scopes: a statement's aliases and common table expressions are its own.
(statement [(select) (insert) (update) (delete)]) @scope.function
(create_query) @scope.function
(create_function) @scope.function

; Definitions.
(create_table (object_reference name: (identifier) @name)) @def.table
(create_table (object_reference schema: (identifier) @owner name: (identifier) @of))
(create_view (object_reference name: (identifier) @name)) @def.view
(create_view (object_reference schema: (identifier) @owner name: (identifier) @of))
(create_materialized_view (object_reference name: (identifier) @name)) @def.materialized_view
(create_materialized_view (object_reference schema: (identifier) @owner name: (identifier) @of))
(create_index column: (identifier) @name) @def.index
(create_function (keyword_function) . (object_reference name: (identifier) @name)) @def.function
(create_function (keyword_function) . (object_reference schema: (identifier) @owner name: (identifier) @of))
(create_function (object_reference name: (identifier) @of) (function_body) @body)
(create_trigger (keyword_trigger) . (object_reference name: (identifier) @name)) @def.trigger
(create_type (object_reference name: (identifier) @name)) @def.type
(create_type (object_reference schema: (identifier) @owner name: (identifier) @of))
(create_schema (identifier) @name) @def.schema
(create_sequence (object_reference name: (identifier) @name)) @def.sequence
(column_definition name: [(identifier) (literal)] @name) @def.column
(alter_table (object_reference name: (identifier) @owner) (add_column (column_definition name: (_) @of)))
(alter_table (rename_object (object_reference name: (identifier) @name))) @def.table
(alter_table (object_reference name: (identifier) @owner) (rename_column new_name: (identifier) @name) @def.column)
(alter_table (object_reference name: (identifier) @owner) (add_constraint . (keyword_constraint)? (identifier) @name) @def.constraint)
(cte . (identifier) @name) @def.variable
(relation (object_reference name: (identifier)) @type alias: (identifier) @name) @def.variable
(function_argument . (identifier) @name) @def.parameter

; Occurrences.
(identifier) @ref
(literal) @ref.quoted
(function_language (identifier) @ignore)
(invocation (object_reference name: (identifier) @ref.call))
(insert (object_reference name: (identifier) @ref.write))
(update (relation (object_reference name: (identifier) @ref.write)))
(statement (delete) (from (object_reference name: (identifier) @ref.write)))
(drop_table (object_reference name: (identifier) @ref.write))
(column_definition custom_type: (object_reference name: (identifier) @ref.type))
(field (object_reference name: (identifier) @recv.path) name: (identifier) @ref.member)

(comment) @comment

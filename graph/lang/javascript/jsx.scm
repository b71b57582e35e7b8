; JSX, for JavaScript and TSX.
(jsx_opening_element name: (identifier) @ref.call)
(jsx_self_closing_element name: (identifier) @ref.call)
(jsx_closing_element name: (identifier) @ref.call)
(jsx_attribute (property_identifier) @ref.member)

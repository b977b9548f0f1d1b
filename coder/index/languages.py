"""Languages parsed with tree-sitter: extensions, grammars, and queries.

In a query, `name` captures the name of a definition and the other capture its kind; `scope` is a node that
only qualifies the names inside it; `owner` is the receiver type of a method; `base` a base class; `source`
the imported module; `blank` a string or comment, `code` an expression inside a string.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Language:
    package: str
    """Python package of the grammar."""
    query: str
    grammar: str = "language"
    """The package's function that returns it."""


PYTHON = """
(class_definition name: (_) @name) @class
(function_definition name: (_) @name) @function
(expression_statement (assignment left: (identifier) @name) @variable)
(class_definition superclasses: (argument_list [(identifier) (attribute) (subscript)] @base))
(import_statement) @import
[(import_from_statement) (future_import_statement)] @import
[(comment) (string)] @blank
(interpolation expression: (_) @code)
"""
SCRIPT = """
(class_declaration name: (_) @name) @class
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(method_definition name: (_) @name) @method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(variable_declarator name: (identifier) @name) @variable
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
(assignment_expression left: (member_expression property: (_) @name) right: [(arrow_function) (function_expression)]) @function
(export_statement "default" value: (function_expression name: (_) @name)) @function
(export_statement "default" value: (binary_expression right: (function_expression name: (_) @name))) @function
(export_statement "default" @name value: [(arrow_function) (function_expression !name)]) @function
(export_statement "default" @name value: (binary_expression right: [(arrow_function) (function_expression !name)])) @function
(export_statement "default" @name value: (binary_expression right: (parenthesized_expression [(arrow_function) (function_expression !name)]))) @function
(import_statement source: (string) @source) @import
(export_statement source: (string) @source) @import
(call_expression function: (identifier) @require arguments: (arguments . (string) @source) (#eq? @require "require")) @import
[(comment) (string) (regex)] @blank
(template_string (string_fragment) @blank)
"""
JAVASCRIPT = f"""{SCRIPT}
(class_heritage (_) @base)
(field_definition property: (_) @name) @variable
"""
TYPESCRIPT = f"""{SCRIPT}
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(internal_module name: (_) @name) @module
(function_signature name: (_) @name) @function
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @method
(public_field_definition name: (_) @name) @variable
(property_signature name: (_) @name) @variable
(extends_clause value: (_) @base)
(implements_clause (_) @base)
(extends_type_clause type: (_) @base)
"""
GO = """
(type_spec name: (_) @name type: (struct_type)) @struct
(type_spec name: (_) @name type: (interface_type)) @interface
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type
(function_declaration name: (_) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner)) name: (_) @name) @method
(method_elem name: (_) @name) @method
(const_spec name: (_) @name) @constant
(var_spec name: (_) @name) @variable
(struct_type (field_declaration_list (field_declaration !name type: (_) @base)))
(import_spec path: (_) @source) @import
[(comment) (interpreted_string_literal) (raw_string_literal) (rune_literal)] @blank
"""
RUST = """
(mod_item name: (_) @name) @module
(struct_item name: (_) @name) @struct
(union_item name: (_) @name) @struct
(enum_item name: (_) @name) @enum
(trait_item name: (_) @name) @trait
(type_item name: (_) @name) @type
(impl_item type: (_) @name) @scope
(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @function
(const_item name: (_) @name) @constant
(static_item name: (_) @name) @variable
(macro_definition name: (_) @name) @macro
(trait_bounds (_) @base)
(impl_item trait: (_) @base)
(use_declaration argument: (_) @source) @import
[(line_comment) (block_comment) (string_literal) (raw_string_literal) (char_literal)] @blank
"""
JAVA = """
(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(annotation_type_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(constructor_declaration name: (_) @name) @method
(method_declaration name: (_) @name) @method
(field_declaration declarator: (variable_declarator name: (_) @name)) @variable
(superclass (_) @base)
(super_interfaces (type_list (_) @base))
(extends_interfaces (type_list (_) @base))
(import_declaration (scoped_identifier) @source) @import
[(line_comment) (block_comment) (string_literal) (character_literal)] @blank
"""
C = """
(preproc_def name: (_) @name) @macro
(preproc_function_def name: (_) @name) @macro
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(type_definition declarator: (type_identifier) @name) @type
(function_definition declarator: (function_declarator declarator: (_) @name)) @function
(function_definition declarator: (_ declarator: (function_declarator declarator: (_) @name))) @function
(function_definition declarator: (_ declarator: (_ declarator: (function_declarator declarator: (_) @name)))) @function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @prototype
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @prototype
(declaration declarator: (init_declarator declarator: (identifier) @name)) @variable
(declaration declarator: (init_declarator declarator: (_ declarator: (identifier) @name))) @variable
(preproc_include path: (_) @source) @import
[(comment) (string_literal) (char_literal) (system_lib_string)] @blank
"""
CPP = f"""{C}
(namespace_definition name: (_) @name) @module
(class_specifier name: (_) @name body: (_)) @class
(concept_definition name: (_) @name) @type
(alias_declaration name: (_) @name) @type
(function_definition declarator: (_ (function_declarator declarator: (_) @name))) @function
(field_declaration declarator: (function_declarator declarator: (_) @name)) @prototype
(field_declaration declarator: (_ (function_declarator declarator: (_) @name))) @prototype
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base)
(raw_string_literal) @blank
"""
RUBY = """
(module name: (_) @name) @module
(class name: (_) @name) @class
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(assignment left: (constant) @name) @constant
(superclass (_) @base)
(call method: (identifier) @require arguments: (argument_list . (string) @source)
  (#match? @require "^(require|require_relative|load)$")) @import
[(comment) (string_content) (heredoc_content)] @blank
"""
PHP = """
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(function_definition name: (_) @name) @function
(method_declaration name: (_) @name) @method
(property_element name: (variable_name (name) @name)) @variable
(const_element (name) @name) @constant
(base_clause (_) @base)
(class_interface_clause (_) @base)
[(comment) (string_content) (heredoc_body) (nowdoc_body)] @blank
"""
_PYTHON = Language(package="tree_sitter_python", query=PYTHON)
_JAVASCRIPT = Language(package="tree_sitter_javascript", query=JAVASCRIPT)
_TYPESCRIPT = Language(package="tree_sitter_typescript", grammar="language_typescript", query=TYPESCRIPT)
_TSX = Language(package="tree_sitter_typescript", grammar="language_tsx", query=TYPESCRIPT)
_C = Language(package="tree_sitter_c", query=C)
_CPP = Language(package="tree_sitter_cpp", query=CPP)
LANGUAGES: Mapping[str, Language] = {
    **dict.fromkeys(("py", "pyi"), _PYTHON),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), _JAVASCRIPT),
    **dict.fromkeys(("ts", "mts", "cts"), _TYPESCRIPT),
    "tsx": _TSX,
    "go": Language(package="tree_sitter_go", query=GO),
    "rs": Language(package="tree_sitter_rust", query=RUST),
    "java": Language(package="tree_sitter_java", query=JAVA),
    "c": _C,
    **dict.fromkeys(("h", "cc", "cpp", "cxx", "hh", "hpp", "hxx"), _CPP),
    "php": Language(package="tree_sitter_php", grammar="language_php", query=PHP),
    **dict.fromkeys(("rb", "rake"), Language(package="tree_sitter_ruby", query=RUBY)),
}
"""By file extension; a header is parsed as C++, which includes nearly all of C."""

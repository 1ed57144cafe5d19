/// Swift's rules for names.
enum SwiftName {
  /// A name as it can stand anywhere in Swift: in backticks where it means something else without them.
  static func escaped(_ name: String) -> String {
    keywords.contains(name) ? "`\(name)`" : name
  }

  /// A name as the label of an argument. There a keyword needs no backticks, and the compiler warns of them.
  static func label(_ name: String) -> String {
    ["inout", "let", "var"].contains(name) ? "`\(name)`" : name
  }

  /// What a function calls its context where a parameter is called `context`. No storage has such a name.
  static let otherContext = "___context"

  /// Whether a name, escaped, can be declared: a letter or underscore, then letters, digits, underscores.
  static func isValid(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first, name != "_" else { return false }
    return (first == "_" || first.properties.isXIDStart)
      && name.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isXIDContinue }
  }

  /// A name with its first letter in upper case, for a place behind another word: `addTo` `Reviews`.
  static func capitalized(_ name: String) -> String {
    name.prefix(1).uppercased() + name.dropFirst()
  }

  /// Swift's keywords, and the words that some position of an expression or a declaration reads as one.
  /// Backticks around a word that would do without them change nothing.
  private static let keywords: Set<String> = [
    // Declarations.
    "actor", "associatedtype", "async", "borrowing", "class", "consuming", "convenience", "deinit", "dynamic",
    "enum", "extension", "fileprivate", "final", "func", "import", "indirect", "infix", "init", "inout",
    "internal", "isolated", "lazy", "let", "macro", "mutating", "nonisolated", "nonmutating", "open",
    "operator", "optional", "override", "package", "postfix", "precedencegroup", "prefix", "private",
    "protocol", "public", "required", "rethrows", "sending", "static", "struct", "subscript", "typealias",
    "unowned", "unsafe", "var", "weak",
    // Statements.
    "break", "case", "catch", "continue", "default", "defer", "do", "else", "fallthrough", "for", "guard",
    "if", "in", "repeat", "return", "switch", "then", "throw", "where", "while", "yield",
    // Expressions and types.
    "Any", "Protocol", "Self", "Type", "any", "as", "await", "borrow", "catch", "consume", "copy", "discard",
    "each", "false", "is", "nil", "self", "some", "super", "throws", "true", "try",
    // Accessors.
    "didSet", "get", "set", "willSet",
  ]
}

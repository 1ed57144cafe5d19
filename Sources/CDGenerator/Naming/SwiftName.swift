/// Swift's rules for names.
enum SwiftName {
  /// The name in a form that is valid anywhere in Swift: in backticks if it is a keyword.
  static func escaped(_ name: String) -> String {
    keywords.contains(name) ? "`\(name)`" : name
  }

  /// The name as an argument label. Most keywords need no backticks there, and the compiler warns about unnecessary
  /// ones.
  static func label(_ name: String) -> String {
    ["inout", "let", "var"].contains(name) ? "`\(name)`" : name
  }

  /// The name of a function's context if a parameter is called `context`. No stored property has this name.
  static let otherContext = "___context"

  /// Whether a name can be declared, escaped if needed: a letter or an underscore, followed by letters, digits and
  /// underscores.
  static func isValid(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first, name != "_" else { return false }
    return (first == "_" || first.properties.isXIDStart)
      && name.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isXIDContinue }
  }

  /// The name with its first letter in upper case, to follow another word: `addTo` and `Reviews`.
  static func capitalized(_ name: String) -> String {
    name.prefix(1).uppercased() + name.dropFirst()
  }

  /// Swift's keywords, and words that are keywords only in some positions. Unnecessary backticks do no harm.
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

/// What a name may consist of. Names become Swift identifiers, columns of tables and words of expressions.
enum NameRules {
  /// A letter and then letters, digits and underscores, in any script that Swift allows.
  static func isIdentifier(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first else { return false }
    return (first == "_" || first.properties.isXIDStart)
      && name.unicodeScalars.dropFirst().allSatisfy { $0 == "_" || $0.properties.isXIDContinue }
  }

  static func isDottedIdentifier(_ name: String) -> Bool {
    name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { isIdentifier(String($0)) }
  }

  /// Why a name is refused; nil for one that is not.
  static func problem(with name: String) -> String? {
    if !isIdentifier(name) {
      return "'\(name)' is no name: a name is a letter and then letters, digits and underscores"
    }
    if name.hasPrefix("_") {
      return "'\(name)' starts with an underscore; such names are kept for cdgen's own columns and tables"
    }
    if name.lowercased().hasPrefix("sqlite_") {
      return "'\(name)' starts with 'sqlite_'; such names are SQLite's own"
    }
    return nil
  }
}

import CDModel

/// The modules that a file's declarations use.
///
/// The compiler warns about a public import that no public declaration uses. So a file imports only the modules that
/// its types need.
struct ImportList {
  private(set) var modules: [String] = []
  /// Whether only private declarations use Foundation.
  private(set) var needsFoundationPrivately = false

  init(
    _ model: ModelDeclaration, classes: [ClassDeclaration], composites: [CompositeDeclaration],
    migrations: MigrationDeclaration?
  ) {
    let owners =
      classes.flatMap { $0.snapshot?.owners ?? [$0.entityName] } + composites.map(\.plainName)
    let codableTypes =
      owners.flatMap { model.codableTypes[$0] ?? [] } + classes.flatMap(\.inheritedCodableTypes)
    let names = codableTypes.map { CodableTypeName($0) }
    let needsFoundation =
      classes.contains(where: \.needsFoundation) || composites.contains(where: \.needsFoundation)
      || names.contains(where: \.needsFoundation) || migrations?.needsFoundation == true
    if needsFoundation { modules.append("Foundation") }
    let qualifiers = names.reduce(into: Set<String>()) { $0.formUnion($1.qualifiers) }
    // A qualifier that is no known module or type is an enclosing type, which may come from any module.
    let known = Set(model.imports.map(Self.topModule)).union(["Foundation", "Swift"])
      .union(CodableTypeName.standard).union(CodableTypeName.foundation)
    let needsAll = names.contains(where: \.isUnqualified) || !qualifiers.isSubset(of: known)
    for module in model.imports where needsAll || qualifiers.contains(Self.topModule(module)) {
      if !modules.contains(module) { modules.append(module) }
    }
    needsFoundationPrivately =
      classes.contains(where: \.needsFoundationPrivately) && !modules.contains("Foundation")
  }

  /// The module with whose name code qualifies types: `Kit` for the submodule `Kit.Types`.
  private static func topModule(_ module: String) -> String {
    String(module.prefix { $0 != "." })
  }
}

/// The modules that the text of a user's type may refer to.
private struct CodableTypeName {
  /// The names before a dot. They are modules or enclosing types.
  private(set) var qualifiers: Set<String> = []
  /// Whether the text contains a name that may come from any module.
  private(set) var isUnqualified = false
  private(set) var needsFoundation = false

  init(_ text: String) {
    var start = text.startIndex
    while start < text.endIndex {
      guard Self.isNamePart(text[start]) else {
        start = text.index(after: start)
        continue
      }
      let name = text[start...].prefix(while: Self.isNamePart)
      let isMember = start > text.startIndex && text[text.index(before: start)] == "."
      if !isMember {
        if name.endIndex < text.endIndex, text[name.endIndex] == "." {
          qualifiers.insert(String(name))
          needsFoundation = needsFoundation || name == "Foundation" || Self.foundation.contains(String(name))
        } else if Self.foundation.contains(String(name)) {
          needsFoundation = true
        } else if !Self.standard.contains(String(name)) {
          isUnqualified = true
        }
      }
      start = name.endIndex
    }
  }

  private static func isNamePart(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  fileprivate static let standard: Set<String> = [
    "Array", "Bool", "Dictionary", "Double", "Float", "Int", "Int8", "Int16", "Int32", "Int64", "Optional",
    "Set", "String", "UInt", "UInt8", "UInt16", "UInt32", "UInt64",
  ]

  fileprivate static let foundation = Set(AttributeTraits.all.filter(\.needsFoundation).map(\.name))
}

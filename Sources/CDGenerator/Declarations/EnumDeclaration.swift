import CDModel

/// The Swift enumeration of a model's enumeration.
struct EnumDeclaration {
  struct Case {
    /// The name, escaped where needed.
    let name: String
    /// The raw value in Swift syntax.
    let rawValue: String
  }

  let typeName: String
  let rawType: ValueType
  let cases: [Case]
  let doc: String?

  init(_ enumeration: EnumDescription, problems: inout [GenerationProblem]) {
    let name = enumeration.name
    typeName = SwiftName.escaped(name)
    doc = enumeration.doc
    if enumeration.rawType.traits?.integerRange != nil || enumeration.rawType == .string {
      rawType = ValueType.scalar(enumeration.rawType) ?? .string
    } else {
      rawType = .string
      problems.append(.init(.unsupportedType(enumeration.rawType.schemaName), type: name))
    }
    var seen: Set<String> = []
    if enumeration.cases.isEmpty { problems.append(.init(.unfittingValue, type: name)) }
    cases = enumeration.cases.compactMap { each in
      if !SwiftName.isValid(each.name) {
        problems.append(.init(.invalidName(each.name), type: name, member: each.name))
      } else if ReservedNames.cases.contains(each.name) {
        problems.append(.init(.reservedName(each.name), type: name, member: each.name))
      } else if !seen.insert(each.name).inserted {
        problems.append(.init(.duplicateName(each.name), type: name, member: each.name))
      }
      guard let rawValue = Literal.text(each.rawValue, of: enumeration.rawType) else {
        problems.append(.init(.unfittingValue, type: name, member: each.name))
        return nil
      }
      return Case(name: SwiftName.escaped(each.name), rawValue: rawValue)
    }
  }
}

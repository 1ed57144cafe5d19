/// Makes JSON of a model's values.
struct ModelEncoder {
  enum Purpose {
    /// Everything, in declared order.
    case canonical
    /// What the definition hash covers: without what is only for people, and with lists sorted whose order
    /// has no meaning.
    case definition
  }

  let purpose: Purpose

  /// The elements of a list that has no meaning in its order, sorted for a hash.
  func list<Element>(
    _ elements: [Element], by name: (Element) -> String, _ encode: (Element) -> JSONValue
  ) -> [JSONValue] {
    switch purpose {
    case .canonical: elements.map(encode)
    case .definition: elements.map { (name($0), encode($0)) }.sortedByName()
    }
  }

  /// Text for people, which no hash covers.
  func comment(_ text: String?) -> String? {
    purpose == .canonical ? text : nil
  }

  func version(_ version: ModelVersion, into writer: inout JSONObjectWriter) {
    if purpose == .canonical { writer.add("number", version.number) }
    writer.add("label", comment(version.label))
    let basedOn = purpose == .canonical ? version.basedOn : version.basedOn.sorted()
    writer.add("basedOn", list: basedOn.map { .int(Int64($0)) })
    writer.add("enums", list: list(version.enums, by: \.name, enumeration))
    writer.add("composites", list: list(version.composites, by: \.name, composite))
    writer.add("entities", list: list(version.entities, by: \.name, entity))
    writer.add("configurations", list: list(version.configurations, by: \.name, configuration))
    if purpose == .canonical { writer.add("info", dictionary: version.info) }
  }

  func configuration(_ configuration: ConfigurationDescription) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", configuration.name)
    writer.add("entities", list: list(configuration.entities, by: { $0 }, JSONValue.string))
    return writer.value
  }

  func enumeration(_ enumeration: EnumDescription) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", enumeration.name)
    writer.add("rawType", type(enumeration.rawType))
    writer.add("cases", list: enumeration.cases.map(enumCase))
    writer.add("doc", comment(enumeration.doc))
    return writer.value
  }

  func enumCase(_ enumCase: EnumDescription.Case) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", enumCase.name)
    writer.add("rawValue", enumCase.rawValue.jsonValue())
    return writer.value
  }

  func composite(_ composite: CompositeDescription) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", composite.name)
    writer.add("fields", list: list(composite.fields, by: \.name, attribute))
    writer.add("doc", comment(composite.doc))
    return writer.value
  }
}

extension [(String, JSONValue)] {
  /// Sorted by name, and where names are equal by text, so that the order of declaration is never seen.
  func sortedByName() -> [JSONValue] {
    sorted { left, right in
      if left.0.precedes(right.0) { return true }
      if right.0.precedes(left.0) { return false }
      return left.1.canonicalText.precedes(right.1.canonicalText)
    }
    .map(\.1)
  }
}

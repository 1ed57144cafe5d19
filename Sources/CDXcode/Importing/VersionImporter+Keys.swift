import CDModel

extension VersionImporter {
  /// Reads indexes in all three forms, and unique constraints.
  ///
  /// - Parameter graph: The graph of the version. Its keys and `info` are not used.
  mutating func readKeys(of place: Int, _ graph: EntityGraph) {
    guard let element = origins[.entity(place)] else { return }
    var read = ReadIndexes()
    readMarks(of: place, graph, &read)
    var compounds = MarkupElement("compoundIndexes")
    for child in element.children("compoundIndexes").flatMap({ $0.children }) {
      let index = IndexDescription(
        elements: child.children("index").map { SortKey(name($0["value"], of: element, graph)) })
      if !add(index, form: IndexForms.compound, to: place, child, graph, &read) {
        compounds.children.append(child)
      }
    }
    if !compounds.children.isEmpty { keep(compounds, of: .entity(place)) }
    for child in element.children("fetchIndex") { readFetchIndex(child, element, place, graph, &read) }
    let names = version.entities[place].indexes.map { IndexForms.name(of: $0) }
    if read.forms != names {
      version.entities[place].info[XcodeInfo.indexes] = read.forms.joined(separator: ", ")
    }
    readUniqueness(of: place, element, graph)
  }

  /// The indexes of an entity that have been read.
  private struct ReadIndexes {
    var known: Set<IndexDescription> = []
    /// Their forms, in their order.
    var forms: [String] = []
  }

  /// Reads the marks `indexed="YES"` of properties.
  private mutating func readMarks(of place: Int, _ graph: EntityGraph, _ read: inout ReadIndexes) {
    let entity = version.entities[place]
    let keys =
      entity.attributes.indices.map { (entity.attributes[$0].name, ElementIndex.attribute(place, $0)) }
      + entity.relationships.indices.map {
        (entity.relationships[$0].name, ElementIndex.relationship(place, $0))
      }
    for (name, key) in keys {
      guard let element = origins[key], element.flag("indexed") else { continue }
      // A to-one relationship is always indexed, and a to-many relationship has no column to index.
      if case .relationship = key { continue }
      _ = add(
        IndexDescription(elements: [SortKey(name)]), form: IndexForms.single, to: place, element, graph,
        &read)
    }
  }

  private mutating func readFetchIndex(
    _ child: MarkupElement, _ element: MarkupElement, _ place: Int, _ graph: EntityGraph,
    _ read: inout ReadIndexes
  ) {
    var isPlain = child.attributes.allSatisfy { $0.name == "name" }
    let elements = child.children.map { part -> SortKey in
      if part.name != "fetchIndexElement" || part["type"] ?? "Binary" != "Binary" { isPlain = false }
      if part.attributes.contains(where: { !["property", "type", "order"].contains($0.name) }) {
        isPlain = false
      }
      return SortKey(name(part["property"], of: element, graph), ascending: part["order"] != "descending")
    }
    let form = child["name"] ?? ""
    if form.contains(",") || form.first == " " || form.last == " " || form.isEmpty { isPlain = false }
    if form == IndexForms.single || form == IndexForms.compound { isPlain = false }
    guard isPlain else {
      remark(
        "index '\(form)' of '\(version.entities[place].name)'",
        "cdgen has no indexes of this kind or over expressions; it is kept under 'info'",
        at: child)
      return keep(child, of: .entity(place))
    }
    let index = IndexDescription(elements: elements)
    if !add(index, form: form, to: place, child, graph, &read) { keep(child, of: .entity(place)) }
  }

  private func name(_ text: String?, of element: MarkupElement, _ graph: EntityGraph) -> String {
    names.property(text ?? "", of: element["name"] ?? "")
  }

  /// Adds an index. Returns false and adds a remark if the index is not valid.
  private mutating func add(
    _ index: IndexDescription, form: String, to place: Int, _ element: MarkupElement, _ graph: EntityGraph,
    _ read: inout ReadIndexes
  ) -> Bool {
    let entity = version.entities[place].name
    let paths = index.elements.map(\.keyPath)
    let subject = "index over '\(paths.joined(separator: ", "))' of '\(entity)'"
    if read.known.contains(index) {
      remark(subject, "it is there twice; the second is kept under 'info'", at: element)
      return false
    }
    if let problem = problem(withKey: paths, of: entity, graph, noun: "an index") {
      remark(subject, "\(problem); it is kept under 'info'", at: element)
      return false
    }
    version.entities[place].indexes.append(index)
    read.known.insert(index)
    read.forms.append(form)
    return true
  }

  private mutating func readUniqueness(of place: Int, _ element: MarkupElement, _ graph: EntityGraph) {
    var others = MarkupElement("uniquenessConstraints")
    var known: Set<Set<String>> = []
    for constraint in element.children("uniquenessConstraints").flatMap({ $0.children }) {
      let entity = version.entities[place].name
      let properties = constraint.children("constraint").map { name($0["value"], of: element, graph) }
      let problem =
        known.contains(Set(properties))
        ? "it is there twice"
        : problem(withKey: properties, of: entity, graph, noun: "a unique constraint")
      guard let problem else {
        known.insert(Set(properties))
        version.entities[place].uniquenessConstraints.append(properties)
        continue
      }
      remark(
        "unique constraint over '\(properties.joined(separator: ", "))' of '\(entity)'",
        "\(problem); it is kept under 'info'", at: constraint)
      others.children.append(constraint)
    }
    if !others.children.isEmpty { keep(others, of: .entity(place)) }
  }

  /// The reason why an index or a constraint over some properties is not valid; nil if it is valid.
  private func problem(
    withKey paths: [String], of entity: String, _ graph: EntityGraph, noun: String
  ) -> String? {
    if paths.isEmpty { return "it is over nothing" }
    if Set(paths).count < paths.count { return "it names a property twice" }
    for path in paths {
      switch graph.property(path, of: entity) {
      case .attribute(let attribute):
        if attribute.isTransient { return "'\(path)' is not stored" }
        if attribute.storesExternally { return "'\(path)' is stored outside the table" }
        switch attribute.type {
        case .composite, .codable: return "'\(path)' has a value that \(noun) cannot have"
        default: break
        }
      case .relationship(let relationship) where relationship.isToMany:
        return "'\(path)' is to-many and has no column"
      case .relationship: break
      case .fetched: return "'\(path)' is a fetched property"
      case nil: return "there is no property '\(path)'"
      }
    }
    return nil
  }
}

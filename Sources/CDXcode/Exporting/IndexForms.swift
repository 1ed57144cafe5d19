import CDModel

/// The forms of an entity's indexes in Xcode's file: a new form with a name, an older list, or only a mark on the
/// property.
struct IndexForms {
  static let single = "(indexed)"
  static let compound = "(compound)"

  private let entity: EntityDescription
  private let graph: EntityGraph
  /// The form of each index: one of the two above, or the index's name.
  private let forms: [String]
  /// The properties with an index that is only a mark.
  private let singles: Set<String>

  init(_ entity: EntityDescription, in graph: EntityGraph) {
    self.entity = entity
    self.graph = graph
    let kept = entity.info[XcodeInfo.indexes]?.split(separator: ",").map { $0.trimmingBlanks } ?? []
    forms = entity.indexes.enumerated().map { place, index in
      let form = place < kept.count ? kept[place] : Self.name(of: index)
      let isPossible = form != Self.single || (index.elements.count == 1 && index.elements[0].isAscending)
      return isPossible ? form : Self.name(of: index)
    }
    let marked = zip(entity.indexes, forms).filter { $1 == Self.single }
    singles = Set(marked.map { index, _ in index.elements[0].keyPath })
  }

  /// The default name of an index.
  static func name(of index: IndexDescription) -> String {
    let names = index.elements.map { key in
      let name = key.keyPath.filter { $0 != "." }
      return name.prefix(1).uppercased() + name.dropFirst()
    }
    return "by" + names.joined(separator: "And")
  }

  func isSingle(_ property: String) -> Bool { singles.contains(property) }

  /// The XML elements of the indexes in the new form.
  var elements: [MarkupElement] {
    var result: [MarkupElement] = []
    for (index, form) in zip(entity.indexes, forms) where form != Self.single && form != Self.compound {
      let elements = index.elements.map { key in
        MarkupElement(
          "fetchIndexElement",
          [
            ("property", graph.xcodePath(key.keyPath, of: entity.name)), ("type", "Binary"),
            ("order", key.isAscending ? "ascending" : "descending"),
          ])
      }
      result.append(MarkupElement("fetchIndex", [("name", form)], children: elements))
    }
    let compounds = zip(entity.indexes, forms).filter { $1 == Self.compound }.map { index, _ in
      MarkupElement(
        "compoundIndex",
        children: index.elements.map {
          MarkupElement("index", [("value", graph.xcodePath($0.keyPath, of: entity.name))])
        })
    }
    if !compounds.isEmpty { result.append(MarkupElement("compoundIndexes", children: compounds)) }
    return result
  }
}

extension Substring {
  var trimmingBlanks: String {
    var text = self
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}

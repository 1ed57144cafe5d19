import CDModel
import CDSchema

/// Reads all versions of a bundle and the renames between them.
struct HistoryImporter {
  /// The versions, oldest first.
  var versions: [VersionImporter]
  private let bases: [[Int]]

  init(
    entries: [VersionOrder.Entry], roots: [String: MarkupElement], modelName: String,
    options: XcodeImportOptions
  ) {
    let found = entries.compactMap { entry in roots[entry.name].map { (entry, $0) } }
    let codables = CodableTypes.all(in: found.map(\.1))
    versions = found.enumerated().map { place, pair in
      var version = VersionImporter(
        pair.1, number: place + 1, modelName: modelName, codables: codables, options: options)
      version.version.label = pair.0.name
      return version
    }
    let names = found.map(\.0.name)
    bases = found.enumerated().map { place, pair in
      pair.0.bases?.compactMap { base in names.firstIndex(of: base).map { $0 + 1 } }
        ?? (place == 0 ? [] : [place])
    }
  }

  mutating func read() {
    var identifiers: [RenamingIdentifiers] = []
    for place in versions.indices {
      versions[place].version.basedOn = bases[place]
      versions[place].read()
      var own = RenamingIdentifiers()
      if let base = bases[place].first.map({ $0 - 1 }), base < place {
        versions[place].readRenames(from: versions[base])
        own = RenamingIdentifiers(
          versions[place].version, base: versions[base].version, identifiers: identifiers[base])
      }
      versions[place].storeXcodeOnlyAttributes(own)
      own.apply(infoOf: versions[place].version)
      identifiers.append(own)
    }
  }
}

/// Finds transformable attributes that can become codable attributes: in the newest version that names their class, it
/// consists of Swift's own types. Older versions use the same type, because Core Data does not see a change of class.
private enum CodableTypes {
  static func all(in roots: [MarkupElement]) -> [String: String] {
    var result: [String: String] = [:]
    for root in roots {
      let names = NameTable(root)
      for entity in root.children("entity") {
        guard let owner = entity["name"] else { continue }
        for attribute in entity.children("attribute") where attribute["attributeType"] == "Transformable" {
          guard let name = attribute["name"], let text = attribute["customClassName"], !text.isEmpty else {
            continue
          }
          result["\(names.entity(owner)).\(names.property(name, of: owner))"] = type(text)
        }
      }
    }
    return result
  }

  /// Without Decimal: the conversion of a store cannot read an archived one, so its archive stays as it is.
  private static let plain = Set(AttributeTraits.all.map(\.name)).subtracting(["Decimal"]).union([
    "Int", "Int8", "UInt", "UInt8", "UInt16", "UInt32", "UInt64",
  ])

  /// The text of a list, dictionary or set of plain types; nil for any other type.
  private static func type(_ text: String) -> String? {
    let text = text.hasPrefix(".") ? String(text.dropFirst()) : text
    guard text.hasPrefix("[") || text.hasPrefix("Set<") else { return nil }
    var words: [String] = [""]
    for character in text {
      if character.isLetter || character.isNumber {
        words[words.count - 1].append(character)
      } else {
        words.append("")
      }
      if !(character.isLetter || character.isNumber || "[]:<> ".contains(character)) { return nil }
    }
    let names = words.filter { !$0.isEmpty }
    guard !names.isEmpty, names.allSatisfy({ plain.contains($0) || $0 == "Set" }),
      text.filter({ $0 == "[" }).count == text.filter({ $0 == "]" }).count,
      text.filter({ $0 == "<" }).count == text.filter({ $0 == ">" }).count
    else { return nil }
    return text
  }
}

import Foundation
import Testing

@testable import CDSchema

/// The article "The schema language" has a row for each key that the decoders accept, and for no other key.
@Suite struct SchemaReferenceTests {
  /// The headings with the keys of the tables below them.
  private static let sections: [(heading: String, keys: [SchemaKeys])] = [
    ("### model.yaml", [.model]),
    ("## A version", [.version]),
    ("## A mapping", [.mapping, .entityRule]),
    ("## Entities", [.entity]),
    ("## Attributes", [.attribute]),
    ("## Enums and composites", [.stringEnumeration, .integerEnumeration, .composite]),
    ("## Relationships", [.relationship]),
    ("## Fetches and fetched properties", [.fetchTemplate, .fetchedProperty]),
  ]

  @Test func theArticleHasAllKeys() throws {
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    let article = try String(
      contentsOf: root.appending(path: "Sources/CDSchema/CDSchema.docc/SchemaLanguage.md"), encoding: .utf8)
    for (heading, keys) in Self.sections {
      let start = try #require(article.range(of: "\n\(heading)\n"), "\(heading)")
      let rest = article[start.upperBound...]
      let end = rest.range(of: "\n#")?.lowerBound ?? rest.endIndex
      #expect(Self.keys(in: rest[..<end]) == Set(keys.flatMap(\.names)), "\(heading)")
    }
  }

  /// The names in the first column of the tables that begin with "Key".
  private static func keys(in section: Substring) -> Set<String> {
    var names: Set<String> = []
    var isInTable = false
    for line in section.split(separator: "\n", omittingEmptySubsequences: false) {
      guard line.hasPrefix("|") else {
        isInTable = false
        continue
      }
      if line.hasPrefix("| Key |") { isInTable = true }
      guard isInTable, let cell = line.split(separator: "|").first else { continue }
      names.formUnion(cell.matches(of: #/`(\w+)[^`]*`/#).map { String($0.1) })
    }
    return names
  }
}

import CDSchema
import Foundation
import Testing

@Suite struct ReservedNamesTests {
  /// A property of a generated class would override the one of `ManagedObject`, which the compiler refuses. The test reads the
  /// sources, because the tools do not use the runtime.
  @Test func publicPropertiesOfObjectsAreReserved() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let folder = root.appending(path: "Sources/CDRuntime/Context/Objects")
    var properties: [String] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
    where name == "ManagedObject.swift" || name.hasPrefix("ManagedObject+") {
      let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
      for line in text.split(separator: "\n") where line.hasPrefix("  public ") {
        let words = line.split(separator: " ")
        guard let place = words.firstIndex(of: "var"), place + 1 < words.count,
          !words[..<place].contains("static")
        else { continue }
        properties.append(String(words[place + 1].prefix { $0 != ":" }))
      }
    }
    #expect(properties.contains("objectID") && properties.contains("committedValues"))
    // An attribute may be called `id`, because the class itself does not declare it.
    #expect(properties.filter { $0 != "id" && NameRules.isPropertyName($0) } == [])
  }
}

import CDMapping
import CDModel
import CDSchema
import Foundation
import Testing

@Suite("Cases")
struct CaseTests {
  @Test("there are cases")
  func thereAreCases() {
    #expect(CaseFolder.all.count > 50)
  }

  @Test("diagnostics", arguments: CaseFolder.all)
  func diagnostics(_ folder: CaseFolder) throws {
    let loaded = try folder.load()
    let actual = loaded.diagnostics.text
    #expect((loaded.model == nil) == loaded.hasErrors)
    if CaseFolder.records { try folder.record(actual, as: "diagnostics.txt") }
    guard let expected = folder.expected("diagnostics.txt") else {
      Issue.record("there is no diagnostics.txt; CDGEN_RECORD=1 writes it")
      return
    }
    #expect(actual == expected)
  }

  @Test("models", arguments: CaseFolder.all)
  func models(_ folder: CaseFolder) throws {
    guard let model = try folder.load().model else {
      #expect(folder.expected("model.json") == nil, "a model was expected")
      return
    }
    let actual = try ReadableJSON.text(of: model.canonicalJSON)
    if CaseFolder.records { try folder.record(actual, as: "model.json") }
    guard let expected = folder.expected("model.json") else {
      Issue.record("there is no model.json; CDGEN_RECORD=1 writes it")
      return
    }
    #expect(actual == expected)
    // What `cdgen compile` writes is on one line, and has no other bytes than these.
    #expect(model.canonicalJSON == ReadableJSON.compact(expected))
    #expect(try ManagedObjectModel(canonicalJSON: expected) == model)
    #expect(try ManagedObjectModel(canonicalJSON: model.canonicalJSON) == model)
  }

  @Test("plans", arguments: CaseFolder.all)
  func plans(_ folder: CaseFolder) throws {
    guard let model = try folder.load().unprovenModel, model.versions.count > 1 else {
      #expect(folder.expected("plan.txt") == nil, "a plan was expected")
      return
    }
    let actual = Self.plan(of: model)
    if CaseFolder.records { try folder.record(actual, as: "plan.txt") }
    guard let expected = folder.expected("plan.txt") else {
      Issue.record("there is no plan.txt; CDGEN_RECORD=1 writes it")
      return
    }
    #expect(actual == expected)
  }

  /// What servers lack. Each case whose name says that it is about them has a `targets.txt`.
  @Test("targets", arguments: CaseFolder.all.filter { $0.name.hasPrefix("target-") })
  func targets(_ folder: CaseFolder) throws {
    let loaded = try folder.load()
    #expect(loaded.model != nil)
    let actual = StoreTarget.allCases.map { "# \($0.rawValue)\n" + loaded.problems(for: $0).text }.joined()
    if CaseFolder.records { try folder.record(actual, as: "targets.txt") }
    guard let expected = folder.expected("targets.txt") else {
      Issue.record("there is no targets.txt; CDGEN_RECORD=1 writes it")
      return
    }
    #expect(actual == expected)
  }

  /// Every step that stores take to the current version, once each.
  private static func plan(of model: ManagedObjectModel) -> String {
    let line = VersionPaths(model)
    var seen: Set<[Int]> = []
    var result = ""
    for version in model.versions {
      let path = line.path(from: version.number, to: model.currentVersionNumber)
      for (source, destination) in zip(path ?? [], (path ?? []).dropFirst()) {
        guard seen.insert([source, destination]).inserted else { continue }
        let name = MappingFile.name(from: source, to: destination)
        result += line.step(from: source, to: destination)?.planText(mapping: name) ?? ""
      }
    }
    return result
  }
}

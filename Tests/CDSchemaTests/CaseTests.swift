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
    let actual = model.canonicalJSON + "\n"
    if CaseFolder.records { try folder.record(actual, as: "model.json") }
    guard let expected = folder.expected("model.json") else {
      Issue.record("there is no model.json; CDGEN_RECORD=1 writes it")
      return
    }
    #expect(actual == expected)
    #expect(try ManagedObjectModel(canonicalJSON: actual) == model)
  }
}

import CDModel
import CDSchema
import Foundation
import Testing

@Suite("A new model's files")
struct ModelTemplateTests {
  @Test("load without a word")
  func loads() throws {
    let id = try #require(UUID(uuidString: "0A1B2C3D-4E5F-4A6B-8C7D-9E0F1A2B3C4D"))
    let files = ModelTemplate.files(name: "Notes", id: id)
    #expect(files.keys.sorted() == ["1.yaml", "model.yaml"])
    let loaded = ModelLoader.load(name: "Notes", files: files.mapValues { Array($0.utf8) })
    #expect(loaded.diagnostics == [])
    #expect(loaded.model?.id == id)
    #expect(loaded.model?.versions.map { $0.entities.map(\.name) } == [["Item", "Folder"]])
  }

  /// The first program names the type that the generator declares. The type has a capital letter in every case.
  @Test func theFirstProgramNamesTheTypeOfTheModel() {
    let program = ModelTemplate.firstProgram(model: "notes")
    #expect(program.contains("PersistentContainer(for: NotesModel.self, at: "))
    #expect(program.contains("URL(filePath: \"notes.sqlite\")"))
  }

  @Test("that are not the first of a target have entities with names of their own")
  func furtherModel() throws {
    let files = ModelTemplate.files(name: "more", id: UUID(), isFurther: true)
    let loaded = ModelLoader.load(name: "more", files: files.mapValues { Array($0.utf8) })
    #expect(loaded.diagnostics == [])
    #expect(loaded.model?.versions.map { $0.entities.map(\.name) } == [["MoreItem", "MoreFolder"]])
    let program = ModelTemplate.firstProgram(model: "more", isFurther: true)
    #expect(program.contains("let item = MoreItem(") && program.contains("in try MoreItem.fetch("))
  }

  @Test func names() {
    #expect(ModelTemplate.problem(withName: "Notes") == nil)
    #expect(
      ModelTemplate.problem(withName: "My Notes")
        == "'My Notes' is not a valid name: a name is a letter and then letters, digits and underscores")
  }
}

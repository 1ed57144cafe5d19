import CDSchema
import Testing

@Suite struct NameRulesTests {
  @Test func noClassHasTheNameOfTheModelsType() {
    for model in ["notes", "Notes"] {
      #expect(!NameRules.isClassName("NotesModel", ofModel: model))
      #expect(NameRules.isClassName("notesModel", ofModel: model))
    }
  }

  /// The type of the model `notes` has a capital letter.
  @Test func anEntityCannotHaveTheNameOfTheTypeOfALowerCaseModel() {
    let files = [
      "model.yaml": "id: 5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11\n",
      "1.yaml": "entities:\n  NotesModel: { attributes: { a: Int64 } }\n",
    ]
    let loaded = ModelLoader.load(name: "notes", files: files.mapValues { Array($0.utf8) })
    #expect(
      loaded.diagnostics.text == """
        1.yaml:2:3: error: generated code itself declares 'NotesModel'; give the entity's class another \
        name: class: NotesModelObject

        """)
  }
}

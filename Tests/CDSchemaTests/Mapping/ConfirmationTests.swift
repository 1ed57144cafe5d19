import CDMapping
import CDModel
import CDSchema
import Testing

@Suite("Confirmations in a mapping")
struct ConfirmationTests {
  /// What a step wants confirmed: of a removed entity, and of two removed properties.
  private static func confirmations() -> MappingFile.Confirmations {
    let old = ModelVersion(
      number: 1,
      entities: [
        EntityDescription(name: "Log"),
        EntityDescription(
          name: "Note",
          attributes: ["text", "size", "draft"].map { AttributeDescription(name: $0, type: .string) }),
      ])
    let new = ModelVersion(
      number: 2, basedOn: [1],
      entities: [
        EntityDescription(name: "Note", attributes: [AttributeDescription(name: "text", type: .string)])
      ])
    return MappingFile.Confirmations(of: MigrationStep(from: old, to: new))
  }

  @Test(arguments: [
    (nil, "entities:\n  Note:\n    drop: [size, draft]\ndrop: [Log]\n"),
    ("# Why.\n", "# Why.\nentities:\n  Note:\n    drop: [size, draft]\ndrop: [Log]\n"),
    (
      "entities:\n  Other: { from: X }   # kept\n\n# The end.\n",
      "entities:\n  Other: { from: X }   # kept\n  Note:\n    drop: [size, draft]\ndrop: [Log]\n\n# The end.\n"
    ),
    (
      "entities:\n  Note:   # one\n    attributes:\n      text: a + b   # two\n    # three\ndrop: [Old]   # four\n",
      "entities:\n  Note:   # one\n    attributes:\n      text: a + b   # two\n    drop: [size, draft]\n    # three\n"
        + "drop: [Old, Log]   # four\n"
    ),
    (
      "entities: { Note: { from: Note } }\ndrop:\n  # they are old\n  - Old   # very\n",
      "entities: { Note: { from: Note, drop: [size, draft] } }\ndrop:\n  # they are old\n  - Old   # very\n  - Log\n"
    ),
    (
      "entities:\n  Note:\n    drop:\n    - old\n  Other:\n    from: X\n",
      "entities:\n  Note:\n    drop:\n    - old\n    - size\n    - draft\n  Other:\n    from: X\ndrop: [Log]\n"
    ),
    (
      "entities:\n  Note:\n    - from: Note\n      where: >-\n        a == 1\n\n    - from: Other\n",
      "entities:\n  Note:\n    - from: Note\n      where: >-\n        a == 1\n      drop: [size, draft]\n\n    - from: Other\n"
        + "drop: [Log]\n"
    ),
    ("{ drop: [] }", "{ drop: [Log], entities: { Note: { drop: [size, draft] } } }"),
    ("entities:\n  Note:\n", "entities:\n  Note: { drop: [size, draft] }\ndrop: [Log]\n"),
    ("entities: {}\ndrop: [Old,]\n", "entities: { Note: { drop: [size, draft] } }\ndrop: [Old, Log,]\n"),
    ("onDuplicate: {}", "onDuplicate: {}\nentities:\n  Note:\n    drop: [size, draft]\ndrop: [Log]\n"),
  ])
  func `All else stays as it was written`(text: String?, wanted: String) {
    #expect(MappingFile.adding(Self.confirmations(), to: text) == wanted)
  }

  @Test(arguments: ["entities: [", "entities: 3\n", "- a\n", "drop: x\n"])
  func `What cannot be added to is refused`(text: String) {
    #expect(MappingFile.adding(Self.confirmations(), to: text) == nil)
  }
}

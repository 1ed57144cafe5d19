import CDGenerator
import CDModel
import CDSchema
import Foundation
import Testing

/// What `cdgen stub` writes. The files that these tests compare with are sources of GeneratedCodeTests, where they are
/// compiled and run; `CDGEN_RECORD=1` writes them anew.
@Suite struct MigrationStubTests {
  private static let runFolder = ReferenceCase.folder.deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "GeneratedCodeTests/Migrations")

  private func model(_ name: String) throws -> ManagedObjectModel {
    let loaded = ModelLoader.load(
      folder: ReferenceCase.folder.appending(path: "\(name)/\(name).cdmodel").path)
    return try #require(loaded.model, "\(loaded.diagnostics)")
  }

  /// A text with each `#error` replaced by the author's answer.
  private func filled(_ text: String, _ answers: [(question: String, statement: String)]) throws -> String {
    var answers = answers[...]
    var lines: [String] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      guard let place = line.firstRange(of: "#error(\"") else {
        lines.append(String(line))
        continue
      }
      let answer = answers.popFirst()
      let (question, statement) = try #require(answer, "\(line)")
      #expect(line[place.upperBound...].hasPrefix(question + ": "), "\(line)")
      let indentation = String(line[..<place.lowerBound])
      lines += statement.split(separator: "\n").map { indentation + $0 }
    }
    #expect(answers.isEmpty)
    return lines.joined(separator: "\n")
  }

  private func compare(_ text: String, with name: String) throws {
    let file = Self.runFolder.appending(path: name)
    if ReferenceCase.records { try text.write(to: file, atomically: true, encoding: .utf8) }
    #expect(try String(contentsOf: file, encoding: .utf8) == text, "CDGEN_RECORD=1 writes it anew")
  }

  @Test func whatIsLeftOfAStubAreTheAuthorsAnswers() throws {
    let stub = try #require(try MigrationStub(model("CustomMigrationMany"), from: 1, to: 3))
    let text = try filled(
      stub.text,
      [
        ("Novel.code", "code = Int64(source.code) ?? -1"),
        ("Record.code", "code = Int64(source.code) ?? -1"),
        ("Record.minutes", "minutes = Int32(source.minutes) ?? 0"),
        ("Reader.name", "name = source.first + \" \" + source.last"),
        ("Reader.name", "guard source.last != \"Nobody\" else { return nil }\nname = source.first"),
        ("Guest.name", "name = source.first"),
        ("Guest.badge", "badge = Int64(source.last.count)"), ("Guest.badge", "badge = -1"),
        (
          "Statistic",
          """
          for key in ["a", "b"] {
            _ = try CustomMigrationManyModel.NewVersion2.Statistic(key: key, amount: 0, in: manager)
          }
          """
        ),
        (
          "Novel.chapters",
          """
          // By inheritance: what a shelf has are media, of which some are novels.
          let media = source.shelf?.media ?? []
          chapters = Int32(media.count { $0.cast(to: CustomMigrationManyModel.Version2.Novel.self) != nil })
          """
        ),
        ("Reader.initials", "initials = String(source.name.split(separator: \" \").compactMap(\\.first))"),
      ])
    try compare(text, with: "CustomMigrationManyMigrations.swift")
  }

  @Test func testsOfAutomaticStepsNeedNoAnswer() throws {
    let text = try MigrationTestStub(model("ToDo"), from: [1], to: 2).text
    #expect(!text.contains("#error"))
    try compare(text, with: "ToDoMigrationTests.swift")
  }

  @Test func testsOfCustomStepsAskWhatTheAppGives() throws {
    let stub = try MigrationTestStub(model("CustomMigrationMany"), from: [1, 2], to: 3).text
    let novels =
      "#expect(try new.objects(of: \"Novel\").map { try $0.value(forKey: \"chapters\").attribute } == [.int(1)])"
    let text = try filled(
      stub,
      [
        ("Novel", "// By the second step: below."),
        ("Record", "#expect(try new.count(of: \"Record\") == 1)"),
        ("Reader", "// A sample visitor is a guest."),
        ("Reader", "#expect(try new.count(of: \"Reader\") == 1)"),
        ("Guest", "// And so is a sample keeper."), ("Guest", "#expect(try new.count(of: \"Guest\") == 2)"),
        ("Statistic", "#expect(try new.count(of: \"Statistic\") == 2)"),
        ("Novel", novels), ("Reader", "// Above."),
        ("Novel", novels), ("Reader", "#expect(try new.count(of: \"Reader\") == 1)"),
      ])
    try compare(text, with: "CustomMigrationManyMigrationTests.swift")
  }

  @Test func whereNothingIsCustomThereIsNoStub() throws {
    #expect(try MigrationStub(model("ToDo"), from: 1, to: 2) == nil)
    #expect(try MigrationStub(model("CustomMigrationMany"), from: 3, to: 3) == nil)
  }

  /// What a rule leaves open is asked for where the code is that can answer it, also where something is inferred.
  @Test func whatIsUndecidedIsAsked() throws {
    func entity(_ name: String, _ attributes: [String]) -> EntityDescription {
      EntityDescription(
        name: name,
        attributes: attributes.map { AttributeDescription(name: $0, type: .string, isOptional: $0 != "code") }
      )
    }
    let rule = EntityRule(
      destination: "Note", isCustom: true,
      undecided: [
        UndecidedPart("text", note: "Xcode's policy"), UndecidedPart("code", note: "a \"call\""),
        UndecidedPart("where", note: "the old ones"),
      ])
    let model = ManagedObjectModel(
      name: "Notes", id: UUID(),
      versions: [
        ModelVersion(number: 1, entities: [entity("Note", ["text"])]),
        ModelVersion(number: 2, basedOn: [1], entities: [entity("Note", ["text", "code"])]),
      ], currentVersionNumber: 2,
      mappings: [MappingRules(source: 1, destination: 2, entities: [rule])])
    let text = try #require(try MigrationStub(model, from: 1, to: 2)).text
    let questions = text.split(separator: "\n").filter { $0.contains("#error(") }.map(String.init)
    #expect(questions.count == 3)
    #expect(questions.contains { $0.contains(#"Note.code: undecided (a \"call\"). Set 'code'"#) })
    #expect(questions.contains { $0.contains("Note.text is undecided (Xcode's policy). Set 'made.text'") })
    #expect(
      questions.contains { $0.contains("Note.where is undecided (the old ones). Return nil for the others") })
  }

  /// Steps before have their type already.
  @Test func aLaterStepExtendsTheType() throws {
    let many = try model("CustomMigrationMany")
    let later = try #require(try MigrationStub(many, from: 2, to: 3, typeName: "Mine")).text
    #expect(later.contains("nonisolated extension Mine {") && !later.contains("Version1"))
    let first = try #require(try MigrationStub(many, from: 1, to: 2)).text
    #expect(
      first.contains(
        "nonisolated struct CustomMigrationManyMigrations: CustomMigrationManyModel.Migrations {"))
    #expect(!first.contains("NewVersion3"))
  }

  /// Names that are keywords, or those of what a stub declares itself, and every kind of answer.
  @Test(arguments: [
    (
      "CustomMigration",
      [
        ("Errand.minutes", "minutes = 1"), ("Errand.slug", "slug = \"\""), ("Errand.spot", "spot = nil"),
        ("Errand.home", "home = .init(street: \"\", zip: \"\")"), ("Errand.owner", "owner = nil"),
      ]
    ),
    (
      "CustomNaming",
      [
        ("Version1.object", "object = 1"), ("Version1.source", "source_ = 1"),
        ("Version1.manager", "manager_ = 1"), ("Migrations", ""),
      ]
    ),
  ])
  func aFilledStubCompiles(name: String, answers: [(String, String)]) throws {
    let stub = try #require(try MigrationStub(model(name), from: 1, to: 2))
    try SourceFolder.with { folder in
      let file = try folder.write(
        try filled(stub.text, answers.map { (question: $0.0, statement: $0.1) }), "Migrations.swift")
      for options in [[], ["-default-isolation", "MainActor"]] {
        let outcome = try SwiftCompiler().check(
          try ReferenceCase(name: name).expectedFiles + [file], options)
        #expect(outcome.isSuccess, "\(outcome.messages)")
      }
      // As it is written, its questions are what the compiler says of it.
      let open = try SwiftCompiler().check(
        try ReferenceCase(name: name).expectedFiles + [try folder.write(stub.text, "Migrations.swift")])
      #expect(!open.isSuccess)
      for (question, _) in answers {
        #expect(open.errors.contains { $0.hasPrefix(question + ": ") }, "\(open.messages)")
      }
    }
  }
}

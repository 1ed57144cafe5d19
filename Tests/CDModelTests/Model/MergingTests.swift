import CDModel
import Foundation
import Testing

/// Several models as one.
@Suite struct MergingTests {
  private static func model(
    _ name: String, _ entities: [String], configurations: [ConfigurationDescription] = [],
    enums: [EnumDescription] = []
  ) -> ManagedObjectModel {
    ManagedObjectModel(
      name: name, id: UUID(),
      versions: [
        ModelVersion(
          number: 7, enums: enums, entities: entities.map { EntityDescription(name: $0) },
          configurations: configurations)
      ], currentVersionNumber: 7)
  }

  private static let colour = EnumDescription(
    name: "Colour", rawType: .int16, cases: [.init(name: "red", rawValue: .int(0))])

  @Test func partsAndConfigurationsAreKept() throws {
    let cloud = ConfigurationDescription(name: "Cloud", entities: ["Task"])
    let tasks = Self.model("Tasks", ["Task", "Tag"], configurations: [cloud], enums: [Self.colour])
    let other = ConfigurationDescription(name: "Cloud", entities: ["Person"])
    let people = Self.model("People", ["Person"], configurations: [other], enums: [Self.colour])
    let merged = try ManagedObjectModel(merging: [tasks, people])
    #expect(merged.name == "Tasks+People" && merged.parts == [tasks, people])
    let version = try #require(merged.currentVersion)
    #expect(version.entities.map(\.name) == ["Task", "Tag", "Person"])
    #expect(version.enums == [Self.colour])
    #expect(
      version.configurations == [
        ConfigurationDescription(name: "Tasks", entities: ["Task", "Tag"]),
        ConfigurationDescription(name: "Cloud", entities: ["Task", "Person"]),
        ConfigurationDescription(name: "People", entities: ["Person"]),
      ])
  }

  @Test func theIdentityFollowsFromTheParts() throws {
    let (a, b, c) = (Self.model("A", ["X"]), Self.model("B", ["Y"]), Self.model("C", ["Z"]))
    let ab = try ManagedObjectModel(merging: [a, b])
    #expect(try ManagedObjectModel(merging: [b, a]).id == ab.id)
    #expect(try ManagedObjectModel(merging: [b, c]).id != ab.id)
    #expect(try ManagedObjectModel(merging: [a]) == a)
    #expect(ab.id.uuidString.dropFirst(14).first == "8")
  }

  @Test func whatDoesNotGoTogetherIsRefused() throws {
    let tasks = Self.model("Tasks", ["Task"])
    var other = Self.colour
    other.cases.append(.init(name: "blue", rawValue: .int(1)))
    var empty = tasks
    empty.id = UUID()
    empty.currentVersionNumber = 8
    let named = ConfigurationDescription(name: "Tasks", entities: ["Note"])
    let cases: [(models: [ManagedObjectModel], error: ModelMergeError)] = [
      ([], .noModels),
      ([tasks, empty], .noCurrentVersion(model: "Tasks")),
      ([tasks, tasks], .sameIdentity(models: ["Tasks", "Tasks"])),
      ([tasks, Self.model("Other", ["TASK"])], .entityInTwo(entity: "TASK", models: ["Tasks", "Other"])),
      (
        [Self.model("A", [], enums: [Self.colour]), Self.model("B", [], enums: [other])],
        .typeInTwo(type: "Colour", models: ["A", "B"])
      ),
      ([tasks, Self.model("Notes", ["Note"], configurations: [named])], .configurationNamedAsModel("Tasks")),
      ([Self.model("Notes", ["Note"], configurations: [named]), tasks], .configurationNamedAsModel("Tasks")),
    ]
    for (models, error) in cases {
      #expect(throws: error) { try ManagedObjectModel(merging: models) }
    }
  }
}

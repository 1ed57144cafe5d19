import CDMapping
import CDModel
import SampleModels
import Testing

@Suite("Ways between versions")
struct VersionPathsTests {
  /// Versions by number with what each is based on, and mappings.
  private static func line(_ bases: [(Int, [Int])], mappings: [(Int, Int)] = []) throws -> VersionPaths {
    var model = try SampleModel.model()
    model.versions = bases.map { ModelVersion(number: $0.0, basedOn: $0.1) }
    model.mappings = mappings.map { MappingRules(source: $0.0, destination: $0.1) }
    return VersionPaths(model)
  }

  @Test func `A store goes step by step`() throws {
    let line = try Self.line([(1, []), (2, [1]), (3, [2]), (4, [3])])
    #expect(line.path(from: 1, to: 4) == [1, 2, 3, 4])
    #expect(line.path(from: 3, to: 4) == [3, 4])
    #expect(line.path(from: 4, to: 4) == [4])
    #expect(line.path(from: 4, to: 1) == nil)
    #expect(line.path(from: 9, to: 4) == nil)
    #expect(line.path(from: 1, to: 9) == nil)
  }

  @Test func `Only a mapping jumps`() throws {
    let line = try Self.line([(1, []), (2, [1]), (3, [2]), (4, [3]), (5, [4])], mappings: [(2, 4)])
    #expect(line.path(from: 1, to: 5) == [1, 2, 4, 5])
    #expect(line.path(from: 3, to: 5) == [3, 4, 5])
  }

  @Test func `A mapped step is not passed by`() throws {
    // 5 names 3 as well as 4, which is based on it.
    let line = try Self.line([(3, []), (4, [3]), (5, [3, 4])], mappings: [(3, 4)])
    #expect(line.path(from: 3, to: 5) == [3, 4, 5])
  }

  @Test func `Branches need to be named or mapped`() throws {
    let versions = [(1, []), (2, [1]), (3, [1]), (4, [3])]
    #expect(try Self.line(versions).path(from: 2, to: 4) == nil)
    #expect(try Self.line(versions, mappings: [(2, 3)]).path(from: 2, to: 4) == [2, 3, 4])
    let merged = try Self.line([(1, []), (2, [1]), (3, [1]), (4, [2, 3])], mappings: [(3, 4)])
    #expect(merged.path(from: 2, to: 4) == [2, 4])
    // At the fork the step with a mapping is none: both lead on by one without.
    #expect(merged.path(from: 1, to: 4) == [1, 2, 4])
  }

  @Test func `Names are followed over several versions`() throws {
    func version(
      _ number: Int, _ entity: String, _ old: String?, _ attribute: String, _ oldAttribute: String?
    )
      -> ModelVersion
    {
      ModelVersion(
        number: number, basedOn: number > 1 ? [number - 1] : [],
        entities: [
          EntityDescription(
            name: entity, renamedFrom: old,
            attributes: [AttributeDescription(name: attribute, type: .string, renamedFrom: oldAttribute)])
        ])
    }
    var model = try SampleModel.model()
    model.versions = [
      version(1, "A", nil, "a", nil), version(2, "B", "A", "b", "a"), version(3, "B", nil, "b", nil),
      version(4, "C", "B", "c", "b"),
    ]
    let step = try #require(VersionPaths(model).step(from: 1, to: 4))
    #expect(step.isLossless)
    #expect(
      step.mapping.entityMappings == [
        EntityMapping(
          kind: .transform, name: "AToC", source: "A", destination: "C",
          attributes: [PropertyMapping(name: "c", value: .keyPath("a"))])
      ])
    #expect(VersionPaths(model).steps(from: 1, to: 4)?.map(\.source) == [1, 2, 3])
    // And back: no store goes that way by itself, but it can be told what it would be.
    let back = try #require(VersionPaths(model).step(from: 4, to: 1))
    #expect(back.isLossless)
    #expect(back.mapping.entityMappings.map(\.name) == ["CToA"])
    #expect(back.mapping.entityMappings[0].attributes == [PropertyMapping(name: "a", value: .keyPath("c"))])
  }

  /// A line of versions of a composite that a note holds. Each is given by its fields.
  private static func composites(_ versions: [[AttributeDescription]]) throws -> VersionPaths {
    var model = try SampleModel.model()
    model.versions = versions.enumerated().map { index, fields in
      ModelVersion(
        number: index + 1, basedOn: index > 0 ? [index] : [],
        composites: [CompositeDescription(name: "Address", fields: fields)],
        entities: [
          EntityDescription(
            name: "Note", attributes: [AttributeDescription(name: "home", type: .composite("Address"))])
        ])
    }
    return VersionPaths(model)
  }

  /// The value of a field in a step that has one mapping, of notes.
  private static func value(_ path: String, in step: MigrationStep) -> ValueExpression? {
    step.mapping.entityMappings.first?.attributes.first { $0.name == path }?.value
  }

  private static func text(_ name: String, _ old: String? = nil) -> AttributeDescription {
    AttributeDescription(name: name, type: .string, renamedFrom: old)
  }

  @Test func `A new field does not take the values of a renamed one that had its name`() throws {
    var city = Self.text("city")
    city.defaultValue = .value(.string("none"))
    let first = [Self.text("city"), Self.text("zip")]
    let second = [Self.text("town", "city"), Self.text("zip")]
    let paths = try Self.composites([first, second, [Self.text("town"), Self.text("zip"), city]])
    let jump = try #require(paths.step(from: 1, to: 3))
    #expect(jump.isProven)
    #expect(Self.value("home.town", in: jump) == .keyPath("home.city"))
    let single = try #require(paths.step(from: 2, to: 3))
    let expected = try #require(Self.value("home.city", in: single))
    #expect(Self.value("home.city", in: jump) == expected)
    // Without a default, the jump needs a rule, as the step from version 2 does.
    let strict = try Self.composites([
      first, second, [Self.text("town"), Self.text("zip"), Self.text("city")],
    ])
    let unproven = try #require(strict.step(from: 1, to: 3))
    #expect(!unproven.isProven)
  }

  @Test func `A dropped field does not come back with the values of another`() throws {
    var note = Self.text("b")
    note.isOptional = true
    let paths = try Self.composites([[Self.text("a"), note], [Self.text("b", "a")]])
    let back = try #require(paths.step(from: 2, to: 1))
    #expect(Self.value("home.a", in: back) == .keyPath("home.b"))
    #expect(Self.value("home.b", in: back) == .null)
  }

  @Test func `Circles and repeats do no harm`() throws {
    let line = try Self.line([(1, [2]), (2, [1, 1]), (2, [1])], mappings: [(2, 1), (1, 2), (1, 1)])
    #expect(line.path(from: 1, to: 2) == [1, 2])
    #expect(line.path(from: 2, to: 1) == [2, 1])
  }
}

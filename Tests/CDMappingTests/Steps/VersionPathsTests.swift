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

  @Test func `Circles and repeats do no harm`() throws {
    let line = try Self.line([(1, [2]), (2, [1, 1]), (2, [1])], mappings: [(2, 1), (1, 2), (1, 1)])
    #expect(line.path(from: 1, to: 2) == [1, 2])
    #expect(line.path(from: 2, to: 1) == [2, 1])
  }
}

import CDModel
import SampleModels
import SeededRandom
import Testing

@Suite("Hashes of a version")
struct ModelHashesTests {
  /// A change of any of these makes every store and every lock written before doubtful: it takes a new format
  /// version.
  @Test func `The sample's hashes are fixed`() throws {
    let hashes = try SampleModel.version().hashes
    #expect(hashes.data.description == "141b724614460799beca4caae064a4ed278af10db824ab021bbbc2d19612e127")
    #expect(hashes.layout.description == "0e236ee09eb03dfe9bfea9a80409d5f0b7813bf1ebaf9f5782004d9a2e4d8cae")
    #expect(
      hashes.definition.description == "8305fce96aea757f7985ee4c06d76f59d87a1e35738d4de870acb3ac9c329be2")
    #expect(
      hashes.entities.mapValues { [$0.data.description, $0.layout.description, $0.definition.description] }
        == [
          "Book": [
            "10614e5a621233f8abbcdae48a5a17343f4ac6f8fc361da9c7edb0c3b66b7319",
            "489fbf9546c7bb187d581522690d13665064fd6531fc9c41baa68bbaf0608120",
            "1143f32d664d7fac872bcea53518a0885650bfb1cb39e5db77f4a718d6f68cde",
          ],
          "Publication": [
            "105a9547dee2e0058c13d7ef3b368f6ce210252f56b644a06e8f3067262bd21c",
            "41e0b2e09ffc6efdb035e30761ad1e74e0e8955a8c6602516ce3f2620190be68",
            "6551919d55c113238006ca46359a36c7cacd8355e3c40cbb22991599afe94757",
          ],
          "Publisher": [
            "2a01a73cef822692dda4ee42872978bfd68bd7188366a98354e1cb4b829cdf63",
            "ba102fac997f192bebc4f32047c738287ad160831bdf952440df0b374db2e2f4",
            "a7badc5502cd763f4ae6211404d8ececdb949b79333254eba11feec629cef614",
          ],
          "Review": [
            "0444f9b5117d2c7bdc3c9685c1d51d4f480ffb6d36302d57b3283fac075f7b69",
            "d338509a60f7839741dd14f132a97c8d8f311194848ae755bc8e88f5ff90dc25",
            "51efcc9f3f09982e071d874d89fbc5a5006fd527e55cc795fe6c9edb2958ceae",
          ],
        ])
    #expect(
      hashes.enums.mapValues(\.description) == [
        "Country": "5753abbb054e00538faa7f1f975b2546aeace4e8e6acb96ef93e3fae169e7675",
        "Priority": "7d7ff104a0a306ad5e8d2836bb6ea59154f8d1fa3e9bf43d27ea3962234818dd",
        "Unused": "2ba2c5d4e3def59b4ed918389dee21bb346a77f8295e8759e0ba0a9179f6ea2a",
      ])
    #expect(
      hashes.composites.mapValues(\.description) == [
        "Address": "8a99c013824db360d7035bb7eaff37c73c8164bfecf657bb376873a45b34aa74",
        "Spare": "141b6b55246ab245d73d077547f13ccb1a4aa184983a45ff89bf47cfc1a71571",
      ])
    #expect(
      hashes.configurations.mapValues(\.description) == [
        "All": "141b724614460799beca4caae064a4ed278af10db824ab021bbbc2d19612e127",
        "Books": "96b2cbd9992256a814ccdbe08cf63c645e88010dc2c424ffa962ed8511322613",
      ])
  }

  @Test func `An empty version has hashes`() {
    let hashes = ModelVersion(number: 1).hashes
    // sha256sum of the texts.
    #expect(hashes.data == SHA256.digest(of: #"{"hash":"data","format":1,"entities":[]}"#))
    #expect(hashes.layout == SHA256.digest(of: #"{"hash":"layout","format":1,"entities":[]}"#))
    #expect(hashes.definition == SHA256.digest(of: #"{"hash":"definition","format":1,"version":{}}"#))
    #expect(hashes.entities.isEmpty && hashes.configurations.isEmpty)
  }

  @Test func `The text of a data hash is the documented one`() {
    let version = ModelVersion(
      number: 1,
      enums: [EnumDescription(name: "E", rawType: .int16, cases: [.init(name: "a", rawValue: .int(0))])],
      entities: [
        EntityDescription(
          name: "A",
          attributes: [
            AttributeDescription(name: "x", type: .enumeration("E"), isOptional: true),
            AttributeDescription(name: "b", type: .string, defaultValue: .value(.string("d"))),
          ], relationships: [RelationshipDescription(name: "r", destination: "A", deleteRule: .noAction)]),
        EntityDescription(name: "B", parent: "A"),
      ])
    let type = SHA256.digest(
      of: #"{"hash":"data","format":1,"enum":"Int16","cases":[{"name":"a","rawValue":0}]}"#)
    let a = SHA256.digest(
      of: #"{"hash":"data","format":1,"entity":{"name":"A","attributes":[{"name":"b","type":"String"},"#
        + #"{"name":"x","type":{"enumOf":"\#(type)"},"optional":true}],"#
        + #""relationships":[{"name":"r","to":"A","optional":true,"holdsRows":true,"unenforced":true}]}}"#)
    let b = SHA256.digest(
      of: #"{"hash":"data","format":1,"entity":{"name":"B","parent":"A","inherited":"\#(a)"}}"#)
    let hashes = version.hashes
    #expect(hashes.entities["A"]?.data == a)
    #expect(hashes.entities["B"]?.data == b)
    #expect(
      hashes.data
        == SHA256.digest(of: #"{"hash":"data","format":1,"entities":[["A","\#(a)"],["B","\#(b)"]]}"#))
  }

  @Test func `An inherited change reaches subentities and nobody else`() throws {
    try expect(altered: ["Publication", "Book"], definitions: ["Publication"]) {
      $0.attribute("Publication", "title") { $0.isOptional = true }
    }
    try expect(altered: [], layouts: ["Publication", "Book"], definitions: ["Publication"]) {
      $0.entity("Publication") { $0.indexes = [] }
    }
  }

  @Test func `A type's change reaches the entities that use it`() throws {
    try expect(altered: ["Book"], enums: ["Priority"]) { $0.enums[0].cases.swapAt(0, 1) }
    try expect(altered: ["Book"], enums: ["Country"]) { $0.enums[1].cases[0].name = "x" }
    try expect(altered: ["Book"], composites: ["Address"]) { $0.composites[0].fields[0].type = .data }
    try expect(altered: [], enums: ["Unused"]) { $0.enums[2].cases = [] }
    try expect(altered: [], composites: ["Spare"]) { $0.composites[1].fields = [] }
  }

  @Test func `An entity's change stays with it`() throws {
    try expect(altered: ["Review"], definitions: ["Review"]) {
      $0.attribute("Review", "text") { $0.type = .data }
    }
    try expect(altered: ["Book", "Review"], definitions: ["Book"]) {
      $0.relationship("Book", "reviews") { $0.deleteRule = .noAction }
    }
    try expect(altered: [], definitions: ["Book"]) { $0.attribute("Book", "isbn") { $0.pattern = nil } }
  }

  /// Each side can be in a store of its own, which has to notice that its tables change.
  @Test func `A change of where references are reaches both sides`() throws {
    try expect(altered: ["Book", "Review"], definitions: ["Book"]) {
      $0.relationship("Book", "reviews") { $0.isOrdered = true }
    }
    try expect(altered: ["Book", "Review"], definitions: ["Review"]) {
      $0.relationship("Review", "book") { $0.isToMany = true }
    }
    // The references are on the mandatory side of a pair of to-one relationships, or else on that of the lesser name.
    try expect(altered: ["Book", "Publisher"], definitions: ["Publisher"]) {
      $0.relationship("Publisher", "books") {
        $0.isToMany = false
        $0.isOrdered = false
        $0.isOptional = false
      }
    }
    try expect(altered: ["Review"], definitions: ["Review"]) {
      $0.relationship("Review", "book") { $0.isOptional = true }
    }
  }

  @Test func `A configuration's hash is that of its entities`() throws {
    let before = try SampleModel.version().hashes.configurations
    var version = try SampleModel.version()
    version.attribute("Review", "text") { $0.type = .data }
    let after = version.hashes
    #expect(before["Books"] == after.configurations["Books"])
    #expect(before["All"] != after.configurations["All"])
    #expect(after.configurations["All"] == after.data)
    version.configurations[0].entities = ["Book", "Publication", "Book"]
    #expect(before["Books"] == version.hashes.configurations["Books"])
    version.configurations[0].entities = ["Book", "Publication", "Gone"]
    #expect(before["Books"] != version.hashes.configurations["Books"])
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func `No order of declarations alters a hash`(seed: UInt64) throws {
    var models = RandomModels(seed: seed)
    var version = try models.version()
    let hashes = version.hashes
    var random = SplitMix(seed: seed)
    version.enums.shuffle(using: &random)
    version.composites.shuffle(using: &random)
    version.entities.shuffle(using: &random)
    version.configurations.shuffle(using: &random)
    version.basedOn.shuffle(using: &random)
    for place in version.composites.indices { version.composites[place].fields.shuffle(using: &random) }
    for place in version.configurations.indices {
      version.configurations[place].entities.shuffle(using: &random)
    }
    for place in version.entities.indices {
      version.entities[place].attributes.shuffle(using: &random)
      version.entities[place].relationships.shuffle(using: &random)
      version.entities[place].fetchedProperties.shuffle(using: &random)
      version.entities[place].fetchTemplates.shuffle(using: &random)
      version.entities[place].indexes.shuffle(using: &random)
      version.entities[place].uniquenessConstraints.shuffle(using: &random)
    }
    #expect(version.hashes == hashes)
  }

  @Test func `A broken version has hashes too`() {
    let version = ModelVersion(
      number: 1,
      composites: [
        CompositeDescription(name: "C", fields: [AttributeDescription(name: "c", type: .composite("C"))])
      ],
      entities: [
        EntityDescription(
          name: "A", parent: "B", attributes: [AttributeDescription(name: "c", type: .composite("C"))]),
        EntityDescription(name: "B", parent: "A"), EntityDescription(name: "A"),
      ])
    #expect(Set(version.hashes.entities.keys) == ["A", "B"])
  }

  // MARK: Checks

  /// Expects that a change of the sample alters the hashes of these entities and types and of no others.
  private func expect(
    altered data: Set<String>, layouts: Set<String> = [], definitions: Set<String> = [],
    enums: Set<String> = [], composites: Set<String> = [],
    sourceLocation: SourceLocation = #_sourceLocation, _ change: (inout ModelVersion) -> Void
  ) throws {
    var version = try SampleModel.version()
    let before = version.hashes
    change(&version)
    let after = version.hashes
    func differing<Value>(_ part: KeyPath<EntityHashes, Value>) -> Set<String> where Value: Equatable {
      Set(
        before.entities.keys.filter {
          before.entities[$0]?[keyPath: part] != after.entities[$0]?[keyPath: part]
        })
    }
    #expect(differing(\.data) == data, sourceLocation: sourceLocation)
    #expect(differing(\.layout) == layouts, sourceLocation: sourceLocation)
    #expect(differing(\.definition) == definitions, sourceLocation: sourceLocation)
    #expect(
      Set(before.enums.keys.filter { before.enums[$0] != after.enums[$0] }) == enums,
      sourceLocation: sourceLocation)
    #expect(
      Set(before.composites.keys.filter { before.composites[$0] != after.composites[$0] }) == composites,
      sourceLocation: sourceLocation)
  }
}

extension SHA256 {
  /// The digest of a text's UTF-8.
  fileprivate static func digest(of text: String) -> Digest { digest(of: Array(text.utf8)) }
}

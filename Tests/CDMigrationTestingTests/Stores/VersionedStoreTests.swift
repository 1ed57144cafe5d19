import CDMigrationTesting
import CDRuntime
import Foundation
import Testing

@Suite struct VersionedStoreTests {
  private let model = SampleModel.model

  private func library() throws -> VersionedStore {
    let old = try VersionedStore(of: model, version: 1)
    let shelf = try old.insert("Shelf", ["label": "Hall"])
    for (title, pages) in [("Walden", 352), ("Typee", 0)] {
      try old.insert(
        "Volume",
        ["title": .init(title), "pages": .init(pages), "isbn": "1-971234", "shelf": .object(shelf)])
    }
    return old
  }

  @Test func bothSidesCanBeLookedAt() throws {
    let old = try library()
    let new = try old.migrated(to: 2)
    #expect(try old.count(of: "Volume") == 2)
    #expect(try new.count(of: "Book") == 2)
    #expect(throws: FetchError.self) { try old.count(of: "Book") }
    let volume = try #require(try old.objects(of: "Volume").first)
    let book = try #require(try new.counterpart(of: volume, from: old))
    #expect(try book.value(forKey: "title").attribute == volume.value(forKey: "title").attribute)
    #expect(try book.value(forKey: "rating").attribute == .double(1))
    #expect(try book.value(forKey: "shelf").object?.value(forKey: "label").attribute == .string("Hall"))
    #expect(try new.differences(from: old) == [])
  }

  @Test func whatARuleLeavesOutIsNoDifference() throws {
    let old = try library()
    let new = try old.migrated()
    #expect(try new.count(of: "Book") == 1)
    #expect(try new.differences(from: old) == [])
    let typee = try #require(try old.objects(of: "Volume").last)
    #expect(try new.counterpart(of: typee, from: old) == nil)
  }

  @Test func eachStepCanBeLookedAt() throws {
    let steps = try library().migratedStepByStep()
    #expect(steps.map(\.version.number) == [2, 3])
    #expect(try steps.map { try $0.count(of: "Book") } == [2, 1])
  }

  @Test func aChangeBehindTheMigrationIsFound() throws {
    let old = try library()
    let new = try old.migrated(to: 2)
    let books = try new.objects(of: "Book")
    try books[0].setValue("Changed", forKey: "title")
    try books[0].setValue(.object(nil), forKey: "shelf")
    new.context.delete(books[1])
    try new.context.save()
    let differences = try new.differences(from: old)
    let volumes = try old.objects(of: "Volume").map(\.objectID)
    #expect(
      differences.filter { $0.entity == "Volume" }.map(\.objectID) == [volumes[0], volumes[0], volumes[1]])
    #expect(
      differences.filter { $0.entity == "Volume" }.map(\.kind)
        == [.property("shelf"), .property("title"), .missing])
    #expect(
      differences.contains {
        $0.description.hasPrefix("'title' of ") && $0.detail.contains("Walden")
          && $0.detail.contains("Changed")
      })
  }

  @Test func anotherOrderIsADifference() throws {
    func version(_ number: Int, based: [Int], _ further: [AttributeDescription]) -> ModelVersion {
      ModelVersion(
        number: number, basedOn: based,
        entities: [
          EntityDescription(
            name: "Shelf", attributes: [AttributeDescription(name: "label", type: .string)] + further,
            relationships: [
              RelationshipDescription(
                name: "books", destination: "Book", isToMany: true, inverse: "shelf", isOrdered: true)
            ]),
          EntityDescription(
            name: "Book", attributes: [AttributeDescription(name: "title", type: .string)],
            relationships: [RelationshipDescription(name: "shelf", destination: "Shelf", inverse: "books")]),
        ])
    }
    let note = AttributeDescription(name: "note", type: .string, isOptional: true)
    let model = ManagedObjectModel(
      name: "Ordered", id: UUID(), versions: [version(1, based: [], []), version(2, based: [1], [note])],
      currentVersionNumber: 2)
    let old = try VersionedStore(of: model, version: 1)
    let books = try ["b", "a", "c"].map { try old.insert("Book", ["title": .init($0)]) }
    try old.insert("Shelf", ["label": "Hall", "books": .objects(books)])
    let new = try old.migrated()
    #expect(try new.differences(from: old) == [])
    let shelf = try #require(try new.objects(of: "Shelf").first)
    let kept = try shelf.value(forKey: "books").objects
    try shelf.setValue(.objects(kept.reversed()), forKey: "books")
    try new.context.save()
    let difference = try #require(try new.differences(from: old).first)
    #expect(difference.kind == .property("books"))
    func text(_ objects: [ManagedObject]) -> String {
      "[\(objects.map(\.objectID.description).joined(separator: ", "))]"
    }
    #expect(difference.detail == "\(text(kept)) and is \(text(kept.reversed()))")
  }

  /// Lists with items. The second version has a further attribute, and the rules of the test.
  private func lists(
    _ deleteRule: DeleteRule, unique: [[String]] = [], rules: [EntityRule] = [],
    duplicates: [DuplicateRule] = []
  ) throws -> VersionedStore {
    func version(_ number: Int, _ unique: [[String]], _ further: [AttributeDescription]) -> ModelVersion {
      let name = AttributeDescription(name: "name", type: .string)
      return ModelVersion(
        number: number, basedOn: number > 1 ? [number - 1] : [],
        entities: [
          EntityDescription(
            name: "List", attributes: [name] + further,
            relationships: [
              RelationshipDescription(
                name: "items", destination: "Item", isToMany: true, inverse: "list", deleteRule: deleteRule)
            ], uniquenessConstraints: unique),
          EntityDescription(
            name: "Item", attributes: [name],
            relationships: [RelationshipDescription(name: "list", destination: "List", inverse: "items")]),
        ])
    }
    let note = AttributeDescription(name: "note", type: .string, isOptional: true)
    let model = ManagedObjectModel(
      name: "Lists", id: UUID(), versions: [version(1, [], []), version(2, unique, [note])],
      currentVersionNumber: 2,
      mappings: [MappingRules(source: 1, destination: 2, entities: rules, duplicates: duplicates)])
    let old = try VersionedStore(of: model, version: 1)
    for (list, item) in [("a", "a1"), ("b", "b1"), ("a", "a2")] {
      let object = try old.insert("List", ["name": .init(list)])
      try old.insert("Item", ["name": .init(item), "list": .object(object)])
    }
    return old
  }

  @Test func whatGoesWithItsOwnerIsNoDifference() throws {
    let rule = EntityRule(destination: "List", filter: try FetchPredicate(format: "name != 'b'"))
    let old = try lists(.cascade, rules: [rule])
    let new = try old.migrated()
    #expect(try new.count(of: "Item") == 2)
    #expect(try new.differences(from: old) == [])
  }

  @Test(arguments: [DuplicateRule.Survivor.keepFirst, .keepLast])
  func whatAMergedObjectGetsIsNoDifference(_ survivor: DuplicateRule.Survivor) throws {
    let old = try lists(
      .nullify, unique: [["name"]],
      duplicates: [DuplicateRule(entity: "List", properties: ["name"], survivor: survivor)])
    let new = try old.migrated()
    #expect(try new.count(of: "List") == 2)
    #expect(try new.objects(of: "List").contains { try $0.value(forKey: "items").objects.count == 2 })
    #expect(try new.differences(from: old) == [])
    // Objects that a relationship has lost are a difference nevertheless.
    for list in try new.objects(of: "List") { try list.setValue(.objects([]), forKey: "items") }
    try new.context.save()
    #expect(try new.differences(from: old).contains { $0.kind == .property("items") })
  }

  @Test func samplesHaveAValueForEverythingAndSurvive() throws {
    for version in VersionedStore.everyReleasedVersion(of: model) {
      let old = try VersionedStore(of: model, version: version)
      let samples = try old.insertSamples()
      #expect(Set(samples.keys) == Set(old.version.entities.map(\.name)))
      for object in samples.values {
        for attribute in object.entity.attributes {
          #expect(try object.value(forKey: attribute.name).attribute != .null)
        }
      }
      #expect(try samples["Shelf"]?.value(forKey: "books").objects.count == 1)
      #expect(try old.migrated().differences(from: old) == [])
    }
    #expect(VersionedStore.everyReleasedVersion(of: model) == [1, 2])
  }

  @Test func aSampleCanBeGiven() throws {
    let old = try VersionedStore(of: model, version: 1)
    let samples = try old.insertSamples(["Volume.isbn": "9-98----", "Shelf.label": "Here"])
    #expect(try samples["Volume"]?.value(forKey: "isbn").attribute == .string("9-98----"))
    #expect(try samples["Shelf"]?.value(forKey: "label").attribute == .string("Here"))
  }

  private func store(of entities: [EntityDescription]) throws -> VersionedStore {
    let version = ModelVersion(number: 1, entities: entities)
    let model = ManagedObjectModel(name: "Odd", id: UUID(), versions: [version], currentVersionNumber: 1)
    return try VersionedStore(of: model, version: 1)
  }

  @Test func samplesKeepTheLimitsOfTheirAttributes() throws {
    let lengths = [(3, 5), (0, 1), (7, 7), (9, 9)]
    let texts = lengths.enumerated().map { place, length in
      AttributeDescription(
        name: "text\(place)", type: .string, minimumLength: length.0, maximumLength: length.1)
    }
    let numbers = [
      AttributeDescription(name: "last", type: .int64, minimum: .int(Int64.max - 1)),
      AttributeDescription(
        name: "late", type: .int64, minimum: .int(Int64.max - 5), maximum: .int(Int64.max - 3)),
      AttributeDescription(name: "early", type: .int64, maximum: .int(Int64.min + 2)),
    ]
    let store = try self.store(of: [EntityDescription(name: "Thing", attributes: texts + numbers)])
    // The save checks the limits.
    let thing = try #require(try store.insertSamples()["Thing"])
    #expect(try thing.value(forKey: "text0").attribute == .string("xx1"))
    #expect(try thing.value(forKey: "text1").attribute == .string("2"))
    #expect(try thing.value(forKey: "text2").attribute == .string("xxxxxx3"))
  }

  /// The limits are not exact as a Double.
  @Test func samplesKeepTheLimitsOfDecimals() throws {
    let (least, most) = (try #require(Decimal(string: "19.99")), try #require(Decimal(string: "0.07")))
    let fixed = try #require(Decimal(string: "4.99"))
    let store = try self.store(of: [
      EntityDescription(
        name: "Thing",
        attributes: [
          AttributeDescription(name: "price", type: .decimal, minimum: .decimal(least)),
          AttributeDescription(name: "share", type: .decimal, maximum: .decimal(most)),
          AttributeDescription(
            name: "fee", type: .decimal, minimum: .decimal(fixed), maximum: .decimal(fixed)),
          AttributeDescription(name: "free", type: .decimal),
        ])
    ])
    let thing = try #require(try store.insertSamples()["Thing"])
    #expect(try thing.value(forKey: "price").attribute == .decimal(least))
    #expect(try thing.value(forKey: "share").attribute == .decimal(most))
    #expect(try thing.value(forKey: "fee").attribute == .decimal(fixed))
    #expect(try thing.value(forKey: "free").attribute == .decimal(Decimal(4.25)))
  }

  @Test func mandatoryRelationshipsGetFurtherObjects() throws {
    func mandatory(_ name: String, _ destination: String, _ inverse: String, atLeast count: Int? = nil)
      -> RelationshipDescription
    {
      RelationshipDescription(
        name: name, destination: destination, isToMany: count != nil, isOptional: false, inverse: inverse,
        minimumCount: count)
    }
    let store = try self.store(of: [
      EntityDescription(name: "Item", isAbstract: true, relationships: [mandatory("label", "Label", "item")]),
      EntityDescription(name: "Book", parent: "Item"),
      EntityDescription(
        name: "Disc", parent: "Item", relationships: [mandatory("tracks", "Track", "disc", atLeast: 3)]),
      EntityDescription(name: "Label", relationships: [mandatory("item", "Item", "label")]),
      EntityDescription(name: "Track", relationships: [mandatory("disc", "Disc", "tracks")]),
      // Each object needs one of the other entity in two ways.
      EntityDescription(
        name: "Left", relationships: [mandatory("a", "Right", "a"), mandatory("b", "Right", "b")]),
      EntityDescription(
        name: "Right", relationships: [mandatory("a", "Left", "a"), mandatory("b", "Left", "b")]),
    ])
    // The save checks the relationships.
    let samples = try store.insertSamples()
    #expect(Set(samples.keys) == ["Book", "Disc", "Label", "Track", "Left", "Right"])
    #expect(try store.count(of: "Label") == 2)
    #expect(try store.count(of: "Track") == 3)
    #expect(try samples["Disc"]?.value(forKey: "tracks").objects.count == 3)
  }

  @Test func samplesThatWouldHaveNoEndAreAnError() throws {
    let store = try self.store(of: [
      EntityDescription(
        name: "Node",
        relationships: [
          RelationshipDescription(
            name: "children", destination: "Node", isToMany: true, isOptional: false, inverse: "parent",
            minimumCount: 2),
          RelationshipDescription(
            name: "parent", destination: "Node", isOptional: false, inverse: "children"),
        ])
    ])
    #expect(throws: (any Error).self) { try store.insertSamples() }
  }

  @Test func mistakesAreSaid() throws {
    #expect(throws: VersionedStoreError.unknownVersion(9)) { try VersionedStore(of: model, version: 9) }
    let old = try library()
    #expect(throws: VersionedStoreError.unknownVersion(9)) { try old.migrated(to: 9) }
    #expect(throws: VersionedStoreError.noWay(from: 3, to: 1)) {
      try old.migrated().migratedStepByStep(to: 1)
    }
    #expect(throws: VersionedStoreError.noClasses(version: 1, current: 3)) { try old.newContext() }
    #expect(throws: PropertyError.self) { try old.insert("Shelf", ["label": 5]) }
  }

  @Test func aPatternWithoutASampleIsNamed() throws {
    let version = ModelVersion(
      number: 1,
      entities: [
        EntityDescription(
          name: "Thing",
          attributes: [AttributeDescription(name: "code", type: .string, pattern: "(?=a)[^b]+")])
      ])
    let model = ManagedObjectModel(name: "Odd", id: UUID(), versions: [version], currentVersionNumber: 1)
    let store = try VersionedStore(of: model, version: 1)
    #expect {
      try store.insertSamples()
    } throws: { error in
      "\(error)".contains("'code' of 'Thing'") && "\(error)".contains("insertSamples([\"Thing.code\": …])")
    }
    #expect(try VersionedStore(of: model, version: 1).insertSamples(["Thing.code": "ac"]).count == 1)
  }

  @Test func theFilesGoWithTheStore() throws {
    var store: VersionedStore? = try VersionedStore(of: model, version: 1)
    let url = try #require(store?.url)
    #expect(FileManager.default.fileExists(atPath: url.path))
    store = nil
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }
}

import Foundation
import Testing

@testable import CDRuntime

/// What becomes of relationships whose objects are in two stores.
@Suite(.needs(.migrations)) struct RelationshipBetweenStoresTests {
  private let fixture: MigrationFixture

  init() throws { fixture = try MigrationFixture() }

  private static let text = attribute("text", .string)

  private static func version(
    _ number: Int, _ entities: [EntityDescription], _ configurations: [String: [String]]
  ) -> ModelVersion {
    var result = MigrationFixture.version(number, entities)
    result.configurations = configurations.sorted { $0.key < $1.key }.map {
      ConfigurationDescription(name: $0.key, entities: $0.value)
    }
    return result
  }

  private func stores(_ names: [String] = ["X", "Y"]) -> [PersistentStoreDescription] {
    names.map { name in
      PersistentStoreDescription(
        StoreKind.ofEnvironment.location(fixture.folder.appending(path: name)), configuration: name)
    }
  }

  /// Saves what a body does, and closes the stores.
  private func fill(_ version: ModelVersion, _ body: (ManagedObjectContext) throws -> Void) throws {
    let context = try self.context(MigrationFixture.model([version]))
    try body(context)
    try context.save()
  }

  private func context(
    _ model: ManagedObjectModel, _ names: [String] = ["X", "Y"]
  ) throws -> ManagedObjectContext {
    ManagedObjectContext(try PersistentStoreCoordinator(model: model, stores: stores(names)))
  }

  /// The reasons for which stores are refused.
  private func refusal(_ model: ManagedObjectModel, _ names: [String] = ["X", "Y"]) -> String {
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: model, stores: stores(names))
    }
    guard case .notProven(let reasons)? = error?.reason else {
      Issue.record("another error: \(String(describing: error))")
      return ""
    }
    return reasons.joined(separator: "; ")
  }

  @discardableResult
  private func add(_ entity: String, _ text: String, to context: ManagedObjectContext) throws -> ManagedObject
  {
    let object = try context.insert(entityNamed: entity)
    try object.setValue(.attribute(.string(text)), forKey: "text")
    return object
  }

  /// The texts of the objects that the only object of an entity is related to.
  private func texts(_ entity: String, _ relationship: String, _ context: ManagedObjectContext) throws
    -> [PropertyValue]
  {
    let owners = try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
    let owner = try #require(owners.first)
    switch try owner.value(forKey: relationship) {
    case .objects(let objects): return try objects.map { try $0.value(forKey: "text") }
    case .object(let object?): return [try object.value(forKey: "text")]
    default: return []
    }
  }

  // MARK: Positions

  private static func albums(_ number: Int, _ item: [AttributeDescription] = []) -> ModelVersion {
    version(
      number,
      [
        entity("Album", [text], relationships: [toMany("items", "Item", inverse: "album", isOrdered: true)]),
        entity("Item", [text] + item, relationships: [toOne("album", "Album", inverse: "items")]),
      ],
      ["X": ["Album"], "Y": ["Item"]])
  }

  /// How the store of the positions is migrated.
  enum Way: CaseIterable {
    case inPlace, inACopy, inNewTables

    fileprivate func mappings() throws -> [MappingRules] {
      let value = PropertyMapping(name: "note", value: try ValueExpression(format: "text + '!'"))
      let rule: EntityRule
      switch self {
      case .inPlace: return []
      case .inACopy: rule = EntityRule(destination: "Item", attributes: [value])
      case .inNewTables:
        rule = EntityRule(
          destination: "Item", filter: try FetchPredicate(format: "text != 'x'"), attributes: [value])
      }
      return [MappingRules(source: 1, destination: 2, entities: [rule])]
    }
  }

  @Test(arguments: Way.allCases) func anOrderAcrossStoresStays(_ way: Way) throws {
    let old = Self.albums(1)
    try fill(old) { context in
      let items = try ["1", "2", "3"].map { try add("Item", $0, to: context) }
      let album = try add("Album", "A", to: context)
      try album.setValue(.objects([items[1], items[2], items[0]]), forKey: "items")
    }
    let new = Self.albums(2, [attribute("note", .string, isOptional: true)])
    let migrated = try context(MigrationFixture.model([old, new], mappings: try way.mappings()))
    let found = try texts("Album", "items", migrated)
    #expect(found == ["2", "3", "1"].map { PropertyValue.attribute(.string($0)) })
  }

  /// The positions are in the store of the items, whose own entity stays the same.
  @Test func aRelationshipBecomesOrdered() throws {
    var old = Self.albums(1)
    old.entities[0].relationships[0].isOrdered = false
    try fill(old) { context in
      let items = try ["1", "2", "3"].map { try add("Item", $0, to: context) }
      let album = try add("Album", "A", to: context)
      try album.setValue(.objects(items), forKey: "items")
    }
    let model = MigrationFixture.model([old, Self.albums(2)])
    let expected = ["3", "1", "2"]
    do {
      let context = try self.context(model)
      let albums = try context.fetch(FetchRequest<ManagedObject>(entityName: "Album"))
      let items = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
      let ordered = try expected.map { text in
        try #require(try items.first { try $0.value(forKey: "text") == .attribute(.string(text)) })
      }
      try #require(albums.first).setValue(.objects(ordered), forKey: "items")
      try context.save()
    }
    let context = try self.context(model)
    let found = try texts("Album", "items", context)
    #expect(found == expected.map { PropertyValue.attribute(.string($0)) })
    let defects = try context.persistentStoreCoordinator.verify()
    #expect(defects.isEmpty)
  }

  // MARK: The side that has the references

  /// Two versions, whose second one has the references of a relationship on the other side.
  enum Move: CaseIterable {
    case pairs, oneToOne, becomesPairs

    fileprivate var old: ModelVersion {
      switch self {
      case .pairs:
        RelationshipBetweenStoresTests.pair(
          1, "Album", toMany("items", "Item", inverse: "albums"), toMany("albums", "Album", inverse: "items"))
      case .oneToOne:
        RelationshipBetweenStoresTests.pair(
          1, "Album", toOne("items", "Item", inverse: "albums"), toOne("albums", "Album", inverse: "items"))
      case .becomesPairs:
        RelationshipBetweenStoresTests.pair(
          1, "Album", toMany("items", "Item", inverse: "albums"), toOne("albums", "Album", inverse: "items"))
      }
    }

    fileprivate var new: ModelVersion {
      switch self {
      case .pairs:
        RelationshipBetweenStoresTests.pair(
          2, "Zine", toMany("items", "Item", inverse: "albums"), toMany("albums", "Zine", inverse: "items"))
      case .oneToOne:
        RelationshipBetweenStoresTests.pair(
          2, "Zine", toOne("items", "Item", inverse: "albums"), toOne("albums", "Zine", inverse: "items"))
      case .becomesPairs:
        // Only the entity of the other store declares something else.
        RelationshipBetweenStoresTests.pair(
          2, "Album", toMany("items", "Item", inverse: "albums"), toMany("albums", "Album", inverse: "items"))
      }
    }

    fileprivate var isToOne: Bool { self == .oneToOne }
    fileprivate var names: [String] { self == .becomesPairs ? ["Y", "X"] : ["X", "Y"] }
  }

  private static func pair(
    _ number: Int, _ album: String, _ items: RelationshipDescription, _ albums: RelationshipDescription
  ) -> ModelVersion {
    version(
      number,
      [
        entity(album, renamedFrom: album == "Album" ? nil : "Album", [text], relationships: [items]),
        entity("Item", [text], relationships: [albums]),
      ],
      ["X": [album], "Y": ["Item"]])
  }

  private func fill(_ move: Move) throws {
    try fill(move.old) { context in
      let item = try add("Item", "I", to: context)
      let album = try add("Album", "A", to: context)
      try album.setValue(move.isToOne ? .object(item) : .objects([item]), forKey: "items")
    }
  }

  @Test(arguments: Move.allCases) func referencesDoNotMoveToAnotherStore(_ move: Move) throws {
    try fill(move)
    let model = MigrationFixture.model([move.old, move.new])
    // Each store refuses alone too, before anything is changed.
    for description in stores() {
      let error = #expect(throws: MigrationError.self) {
        try PersistentStoreCoordinator(model: model, stores: [description])
      }
      guard case .relationshipLeavesStore(_, let from, let to)? = error?.reason else {
        Issue.record("another error: \(String(describing: error))")
        continue
      }
      #expect([from, to] == move.names)
    }
    let context = try self.context(MigrationFixture.model([move.old]))
    let items = try texts("Album", "items", context)
    let albums = try texts("Item", "albums", context)
    #expect(items == [.attribute(.string("I"))] && albums == [.attribute(.string("A"))])
  }

  /// The draft of the version that the stores were written with has changed. No mapping leads from it to itself.
  @Test func aDraftWhoseReferencesWouldMoveIsErasedWhereThatIsAskedFor() throws {
    try fill(.pairs)
    var draft = Move.pairs.new
    draft.number = 1
    draft.basedOn = []
    let model = ManagedObjectModel(
      name: "Matrix", id: MigrationFixture.id, versions: [draft], currentVersionNumber: 1,
      lockedVersionNumbers: [])
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: model, stores: stores())
    }
    let text = try #require(error).description
    #expect(text.contains("to the current draft of version 1"), "\(text)")
    #expect(text.contains("changedDraftPolicy"), "\(text)")
    #expect(!text.contains("mapping"), "\(text)")

    let erasing = stores().map { description in
      var result = description
      result.changedDraftPolicy = .eraseInEveryBuild
      return result
    }
    let coordinator = try PersistentStoreCoordinator(model: model, stores: erasing)
    #expect(coordinator.migrations.map(\.hasErasedStore) == [true, true])
    let defects = try coordinator.verify()
    #expect(defects.isEmpty)
  }

  /// The references are in the store of the items, which cannot read the albums.
  @Test func aRuleForTheOtherStoreLosesNoReferences() throws {
    let old = Self.albums(1)
    try fill(old) { context in
      let item = try add("Item", "I", to: context)
      let album = try add("Album", "A", to: context)
      try album.setValue(.objects([item]), forKey: "items")
    }
    let new = Self.version(
      2,
      [
        entity(
          "Album", [Self.text], relationships: [toMany("things", "Item", inverse: "album", isOrdered: true)]),
        entity("Item", [Self.text], relationships: [toOne("album", "Album", inverse: "things")]),
      ],
      ["X": ["Album"], "Y": ["Item"]])
    let rule = EntityRule(
      destination: "Album", relationships: [PropertyMapping(name: "things", value: .keyPath("items"))])
    let model = MigrationFixture.model(
      [old, new], mappings: [MappingRules(source: 1, destination: 2, entities: [rule])])
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: model, stores: stores(["Y"]))
    }
    #expect(error?.description.contains("write a rule for 'album' of 'Item' instead") == true)
  }

  @Test func aConfirmedLossOfReferencesIsMigrated() throws {
    try fill(.pairs)
    let rule = EntityRule(
      destination: "Zine", relationships: [PropertyMapping(name: "items", value: .null)])
    let model = MigrationFixture.model(
      [Move.pairs.old, Move.pairs.new],
      mappings: [MappingRules(source: 1, destination: 2, entities: [rule])])
    let context = try self.context(model)
    let items = try texts("Zine", "items", context)
    #expect(items.isEmpty)
    let defects = try context.persistentStoreCoordinator.verify()
    #expect(defects.isEmpty)
  }

  @Test func aRehearsalReportsThatReferencesWouldMove() throws {
    try fill(.pairs)
    let report = try MigrationRehearsal(
      stores()[0], model: MigrationFixture.model([Move.pairs.old, Move.pairs.new])
    ).run()
    let refusal = try #require(report.refusal)
    #expect(refusal.reason == .relationshipLeavesStore(relationship: "items", from: "X", to: "Y"))
    #expect(refusal.description.contains("'items: nil' in the mapping"))
  }

  // MARK: Objects that other stores refer to

  /// The new store of the authors gives them the keys that the old ones had.
  @Test(arguments: ["X", "Y"]) func noReferenceLeadsToAnObjectOfTheNewStore(_ first: String) throws {
    func version(_ number: Int, _ store: String) -> ModelVersion {
      Self.version(
        number,
        [
          entity("Note", [Self.text], relationships: [toOne("author", "Author", inverse: "notes")]),
          entity("Author", [Self.text], relationships: [toMany("notes", "Note", inverse: "author")]),
          entity("Folder", [Self.text]),
        ],
        [
          "X": store == "X" ? ["Folder", "Author"] : ["Folder"],
          "Y": store == "Y" ? ["Note", "Author"] : ["Note"],
        ])
    }
    let (old, new) = (version(1, first), version(2, first == "X" ? "Y" : "X"))
    try fill(old) { context in
      let author = try add("Author", "Old", to: context)
      try add("Note", "N", to: context).setValue(.object(author), forKey: "author")
    }
    let rules = MappingRules(source: 1, destination: 2, drops: ["\(first).Author"])
    let context = try self.context(MigrationFixture.model([old, new], mappings: [rules]))
    try add("Author", "New", to: context)
    try context.save()
    let authors = try texts("Note", "author", context)
    #expect(authors.isEmpty)
    let defects = try context.persistentStoreCoordinator.verify()
    #expect(defects.isEmpty)
  }

  private static func owners(
    _ number: Int, _ owner: String, _ configurations: [String: [String]]
  ) -> ModelVersion {
    version(
      number,
      [
        entity("Person", [text]), entity("Company", [text]),
        entity("Note", [text], relationships: [toOne("owner", owner, inverse: nil)]),
      ], configurations)
  }

  private func fillOwners(_ old: ModelVersion) throws {
    try fill(old) { context in
      let person = try add("Person", "P", to: context)
      try add("Company", "C", to: context)
      try add("Note", "N", to: context).setValue(.object(person), forKey: "owner")
    }
  }

  /// A person and a company of another store have the same key.
  @Test(arguments: [false, true]) func noReferenceLeadsToAnotherEntity(inNewTables: Bool) throws {
    let configurations = ["X": ["Person", "Company"], "Y": ["Note"]]
    let old = Self.owners(1, "Person", configurations)
    let new = Self.owners(2, "Company", configurations)
    try fillOwners(old)
    var rule = EntityRule(destination: "Note", drops: ["owner"])
    if inNewTables { rule.filter = try FetchPredicate(format: "text != 'x'") }
    let rules = MappingRules(source: 1, destination: 2, entities: [rule])
    let context = try self.context(MigrationFixture.model([old, new], mappings: [rules]))
    let owners = try texts("Note", "owner", context)
    #expect(owners.isEmpty)
    let defects = try context.persistentStoreCoordinator.verify()
    #expect(defects.isEmpty)
  }

  /// The store with the references stores the same as before, and would not be migrated.
  @Test func objectsWithReferencesOfAnotherStoreAreNotLost() throws {
    let old = Self.owners(1, "Person", ["X": ["Person", "Company"], "Y": ["Note"]])
    let new = Self.owners(2, "Person", ["X": ["Company"], "Y": ["Note"], "Z": ["Person"]])
    try fillOwners(old)
    var rules = MappingRules(source: 1, destination: 2, drops: ["X.Person"])
    let names = ["X", "Y", "Z"]
    for opened in [names, ["X"]] {
      let text = refusal(MigrationFixture.model([old, new], mappings: [rules]), opened)
      #expect(text.contains("'Note.owner'") && text.contains("'owner: nil'"), "\(text)")
    }
    let kept = try texts("Note", "owner", self.context(MigrationFixture.model([old])))
    #expect(kept == [.attribute(.string("P"))])

    let rule = EntityRule(
      destination: "Note", relationships: [PropertyMapping(name: "owner", value: .null)])
    rules.entities = [rule]
    let context = try self.context(MigrationFixture.model([old, new], mappings: [rules]), names)
    try add("Person", "New", to: context)
    try context.save()
    let owners = try texts("Note", "owner", context)
    #expect(owners.isEmpty)
    let defects = try context.persistentStoreCoordinator.verify()
    #expect(defects.isEmpty)
  }

  /// No note can refer to a person.
  @Test func aStoreWithoutObjectsOfALostEntityIsMigrated() throws {
    let old = Self.owners(1, "Person", ["X": ["Person", "Company"], "Y": ["Note"]])
    let new = Self.owners(2, "Person", ["X": ["Company"], "Y": ["Note"], "Z": ["Person"]])
    try fill(old) { context in
      try add("Company", "C", to: context)
      try add("Note", "N", to: context)
    }
    let rules = MappingRules(source: 1, destination: 2, drops: ["X.Person"])
    let context = try self.context(MigrationFixture.model([old, new], mappings: [rules]), ["X", "Y", "Z"])
    try add("Person", "P", to: context)
    try context.save()
    let companies = try context.fetch(FetchRequest<ManagedObject>(entityName: "Company"))
    #expect(companies.count == 1)
    let owners = try texts("Note", "owner", context)
    #expect(owners.isEmpty)
    let defects = try context.persistentStoreCoordinator.verify()
    #expect(defects.isEmpty)
  }

  // MARK: Rules that need another store

  /// A version of the albums whose mapping reads an album of the other store in the rule of its items.
  private func reading(_ rule: EntityRule) throws -> ManagedObjectModel {
    let old = Self.albums(1)
    try fill(old) { context in
      let item = try add("Item", "I", to: context)
      try add("Album", "A", to: context).setValue(.objects([item]), forKey: "items")
    }
    let new = Self.albums(2, [attribute("note", .string, isOptional: true)])
    return MigrationFixture.model(
      [old, new], mappings: [MappingRules(source: 1, destination: 2, entities: [rule])])
  }

  @Test(arguments: ["album.text == 'A'", "album != nil"])
  func aFilterDoesNotReadAnotherStore(_ format: String) throws {
    let model = try reading(EntityRule(destination: "Item", filter: try FetchPredicate(format: format)))
    for names in [["Y", "X"], ["Y"]] {
      let text = refusal(model, names)
      #expect(text.contains("the filter of 'Item'") && text.contains("'Item.album'"), "\(text)")
    }
    let items = try texts("Album", "items", context(MigrationFixture.model([Self.albums(1)])))
    #expect(items == [.attribute(.string("I"))])
  }

  @Test(arguments: ["album.text", "TERNARY(album.text MATCHES 'A', 'y', 'n')"])
  func aRuleDoesNotReadAnotherStore(_ format: String) throws {
    let value = PropertyMapping(name: "note", value: try ValueExpression(format: format))
    let model = try reading(EntityRule(destination: "Item", attributes: [value]))
    let text = refusal(model, ["Y", "X"])
    #expect(text.contains("the rule for 'note' of 'Item'") && text.contains("'Item.album'"), "\(text)")
  }

  @Test(arguments: [false, true]) func codeOfTheAppDoesNotReadAnotherStore(fetches: Bool) throws {
    let model = try reading(EntityRule(destination: "Item", name: "Item", isCustom: true))
    let descriptions = stores(["Y", "X"]).map { description in
      var result = description
      result.migrationPolicies["Item", from: 1, to: 2] = {
        TestPolicy(create: { item, mapping, manager in
          _ = try manager.makeDestinationInstance(for: item, in: mapping)
          if fetches {
            _ = try manager.sourceContext.fetch(FetchRequest<ManagedObject>(entityName: "Album"))
          } else {
            _ = try item.value(forKey: "album")
          }
        })
      }
      return result
    }
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: model, stores: descriptions)
    }
    let text = try #require(error).description
    let expected = fetches ? "no store of the coordinator contains 'Album'" : "'Item.album' could not be read"
    #expect(text.contains(expected), "\(text)")
    let items = try texts("Album", "items", context(MigrationFixture.model([Self.albums(1)])))
    #expect(items == [.attribute(.string("I"))])
  }

  // MARK: Derived attributes that read another store

  /// Albums whose text is mandatory from the second version on.
  ///
  /// - Parameter derivation: The derivation of the attribute `count`; nil if there is none.
  private static func counted(_ number: Int, _ derivation: String?) throws -> ModelVersion {
    var attributes = [attribute("text", .string, isOptional: number == 1)]
    if let derivation {
      var count = attribute("count", .int64, isOptional: true)
      count.derivation = try ValueExpression(format: derivation)
      attributes.append(count)
    }
    return version(
      number,
      [
        entity("Album", attributes, relationships: [toMany("items", "Item", inverse: "album")]),
        entity("Item", [text], relationships: [toOne("album", "Album", inverse: "items")]),
      ],
      ["X": ["Album"], "Y": ["Item"]])
  }

  /// Returns a model whose step needs a new file for the store of the albums, after the stores were filled.
  private func counting(
    from first: String?, to second: String?, album: Bool = true, albums: FetchPredicate? = nil,
    items: FetchPredicate? = nil
  ) throws -> ManagedObjectModel {
    let (old, new) = (try Self.counted(1, first), try Self.counted(2, second))
    try fill(old) { context in
      let items = try ["1", "2"].map { try add("Item", $0, to: context) }
      if album { try add("Album", "A", to: context).setValue(.objects(items), forKey: "items") }
    }
    let text = PropertyMapping(name: "text", value: try ValueExpression(format: "text ?? '-'"))
    var rules = [EntityRule(destination: "Album", filter: albums, attributes: [text])]
    if let items { rules.append(EntityRule(destination: "Item", filter: items)) }
    return MigrationFixture.model(
      [old, new], mappings: [MappingRules(source: 1, destination: 2, entities: rules)])
  }

  @Test(arguments: [false, true]) func aValueThatIsDerivedFromAnotherStoreStays(inNewTables: Bool) throws {
    let filter = try inNewTables ? FetchPredicate(format: "text != 'x'") : nil
    let model = try counting(from: "items.@count", to: "items.@count", albums: filter)
    let context = try self.context(model)
    let albums = try context.fetch(FetchRequest<ManagedObject>(entityName: "Album"))
    let counts = try albums.map { try $0.value(forKey: "count") }
    #expect(counts == [.attribute(.int(2))])
    let defects = try context.persistentStoreCoordinator.verify()
    #expect(defects.isEmpty)
  }

  /// The attribute is new, is derived in another way, or reads items that a filter may exclude.
  @Test(arguments: [nil, "items.@count + 1", "items.@count"] as [String?])
  func aValueIsNotDerivedFromAnEmptyStore(_ first: String?) throws {
    let items = try first == "items.@count" ? FetchPredicate(format: "text != 'x'") : nil
    let model = try counting(from: first, to: "items.@count", items: items)
    let text = refusal(model)
    #expect(text.contains("'count' of 'Album'") && text.contains("'Album.items'"), "\(text)")
    #expect(text.hasPrefix("no rule can give a value"), "\(text)")
    let context = try self.context(MigrationFixture.model([Self.counted(1, first)]))
    let found = try texts("Album", "items", context)
    #expect(found.count == 2)
  }

  /// Albums that count their items, which folders own.
  private static func foldered(_ number: Int, _ configurations: [String: [String]]) throws -> ModelVersion {
    var items = toMany("items", "Item", inverse: "folder")
    items.deleteRule = .cascade
    var entities = try counted(number, "items.@count").entities
    entities[1].relationships.append(toOne("folder", "Folder", inverse: "items"))
    return version(number, entities + [entity("Folder", [text], relationships: [items])], configurations)
  }

  /// The items go with their folders, or because their configuration loses the entity.
  @Test(arguments: [false, true]) func aValueIsNotKeptWithoutTheObjectsThatItReads(isLeaving: Bool) throws {
    let configurations = ["X": ["Album"], "Y": ["Folder", "Item"]]
    let old = try Self.foldered(1, configurations)
    let new = try Self.foldered(
      2, isLeaving ? ["X": ["Album"], "Y": ["Folder"], "Z": ["Item"]] : configurations)
    try fill(old) { context in
      let items = try ["1", "2"].map { try add("Item", $0, to: context) }
      try add("Album", "A", to: context).setValue(.objects(items), forKey: "items")
      try add("Folder", "x", to: context).setValue(.objects(items), forKey: "items")
    }
    let text = PropertyMapping(name: "text", value: try ValueExpression(format: "text ?? '-'"))
    var rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Album", attributes: [text])])
    if isLeaving {
      rules.drops = ["Y.Item"]
    } else {
      let filter = try FetchPredicate(format: "text != 'x'")
      rules.entities.append(EntityRule(destination: "Folder", filter: filter))
    }
    let reason = refusal(
      MigrationFixture.model([old, new], mappings: [rules]), isLeaving ? ["X", "Y", "Z"] : ["X", "Y"])
    #expect(reason.contains("'count' of 'Album'") && reason.contains("'Album.items'"), "\(reason)")
    let found = try texts("Album", "items", context(MigrationFixture.model([old])))
    #expect(found.count == 2)
  }

  /// The items are in the store of one configuration. Another one loses them, but no store has it.
  @Test func aValueStaysIfAConfigurationWithoutAStoreLosesTheObjectsThatItReads() throws {
    func version(_ number: Int, _ others: [String]) throws -> ModelVersion {
      Self.version(
        number, try Self.counted(number, "items.@count").entities,
        ["X": ["Album"], "Y": ["Item"], "Z": others])
    }
    let (old, new) = (try version(1, ["Album", "Item"]), try version(2, ["Album"]))
    try fill(old) { context in
      let items = try ["1", "2"].map { try add("Item", $0, to: context) }
      try add("Album", "A", to: context).setValue(.objects(items), forKey: "items")
    }
    let text = PropertyMapping(name: "text", value: try ValueExpression(format: "text ?? '-'"))
    let rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Album", attributes: [text])],
      drops: ["Z.Item"])
    let context = try self.context(MigrationFixture.model([old, new], mappings: [rules]))
    let albums = try context.fetch(FetchRequest<ManagedObject>(entityName: "Album"))
    let counts = try albums.map { try $0.value(forKey: "count") }
    #expect(counts == [.attribute(.int(2))])
    let defects = try context.persistentStoreCoordinator.verify()
    #expect(defects.isEmpty)
  }

  /// Albums with the sum of an attribute of their items that is derived too.
  private static func summed(_ number: Int, _ derivation: String) throws -> ModelVersion {
    var result = try counted(number, "items.@sum.subtotal")
    var subtotal = attribute("subtotal", .int64, isOptional: true)
    subtotal.derivation = try ValueExpression(format: derivation)
    result.entities[1].attributes += [attribute("price", .int64, .int(3)), subtotal]
    return result
  }

  /// Two stores with two items of an album, and the model with a second version of it.
  private func summing(_ second: String) throws -> ManagedObjectModel {
    let (old, new) = (try Self.summed(1, "price * 2"), try Self.summed(2, second))
    try fill(old) { context in
      let items = try ["1", "2"].map { try add("Item", $0, to: context) }
      try add("Album", "A", to: context).setValue(.objects(items), forKey: "items")
    }
    let text = PropertyMapping(name: "text", value: try ValueExpression(format: "text ?? '-'"))
    let rule = EntityRule(destination: "Album", attributes: [text])
    return MigrationFixture.model(
      [old, new], mappings: [MappingRules(source: 1, destination: 2, entities: [rule])])
  }

  @Test func aValueThatReadsADerivedAttributeOfAnotherStoreStays() throws {
    let context = try self.context(try summing("price * 2"))
    let albums = try context.fetch(FetchRequest<ManagedObject>(entityName: "Album"))
    let sums = try albums.map { try $0.value(forKey: "count") }
    #expect(sums == [.attribute(.int(12))])
    let defects = try context.persistentStoreCoordinator.verify()
    #expect(defects.isEmpty)
  }

  @Test func aValueDoesNotStayIfItReadsAnotherDerivation() throws {
    let text = refusal(try summing("price * 3"))
    #expect(text.contains("'count' of 'Album'") && text.contains("'Album.items'"), "\(text)")
  }

  @Test func anAttributeIsDerivedFromAnotherStoreAfterTheMigration() throws {
    let context = try self.context(try counting(from: nil, to: "items.@count", album: false))
    let items = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
    let album = try add("Album", "A", to: context)
    try album.setValue(.objects(items), forKey: "items")
    try context.save()
    #expect(try album.value(forKey: "count") == .attribute(.int(2)))
    let defects = try context.persistentStoreCoordinator.verify()
    #expect(defects.isEmpty)
  }

  // MARK: Duplicates

  /// A rule for duplicates deletes the second album if both have the same text.
  private func duplicates(_ second: String, _ rules: [EntityRule] = []) throws -> ManagedObjectModel {
    let old = Self.albums(1)
    try fill(old) { context in
      let item = try add("Item", "I", to: context)
      for text in ["A", second] {
        let album = try add("Album", text, to: context)
        if text == second { try album.setValue(.objects([item]), forKey: "items") }
      }
    }
    var new = Self.albums(2)
    new.entities[0].uniquenessConstraints = [["text"]]
    let rules = MappingRules(
      source: 1, destination: 2, entities: rules,
      duplicates: [DuplicateRule(entity: "Album", properties: ["text"], survivor: .keepFirst)])
    return MigrationFixture.model([old, new], mappings: [rules])
  }

  @Test func noDuplicateIsDeletedThatAnotherStoreRefersTo() throws {
    let text = refusal(try duplicates("A"))
    #expect(text.contains("'Item.album' of another store") && text.contains("'album: nil'"), "\(text)")
    let albums = try texts("Item", "album", context(MigrationFixture.model([Self.albums(1)])))
    #expect(albums == [.attribute(.string("A"))])
  }

  @Test func objectsThatAreUniqueKeepTheirReferences() throws {
    let context = try self.context(try duplicates("B"))
    let albums = try texts("Item", "album", context)
    #expect(albums == [.attribute(.string("B"))])
    let defects = try context.persistentStoreCoordinator.verify()
    #expect(defects.isEmpty)
  }

  @Test func duplicatesAreDeletedIfNoReferencesStay() throws {
    let rule = EntityRule(
      destination: "Item", relationships: [PropertyMapping(name: "album", value: .null)])
    let context = try self.context(try duplicates("A", [rule]))
    let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Album"))
    #expect(found.count == 1)
    let albums = try texts("Item", "album", context)
    #expect(albums.isEmpty)
    let defects = try context.persistentStoreCoordinator.verify()
    #expect(defects.isEmpty)
  }

  // MARK: One of the stores

  /// Each item needs an album, and an album counts its items.
  private static func needy(_ number: Int, _ attributes: [AttributeDescription] = []) -> ModelVersion {
    let count = AttributeDescription(
      name: "count", type: .int64, isOptional: true,
      derivation: .path(.object, [.key("items"), .collectionOperator("count")]))
    return version(
      number,
      [
        entity(
          "Album", [text, count] + attributes, relationships: [toMany("items", "Item", inverse: "album")]),
        entity(
          "Item", [text] + attributes,
          relationships: [toOne("album", "Album", inverse: "items", isOptional: false)]),
      ],
      ["X": ["Album"], "Y": ["Item"]])
  }

  /// Without the other store, each item seems to have no album, and each album no items.
  @Test func aStoreAloneBreaksNoRules() throws {
    let old = Self.needy(1)
    try fill(old) { context in
      let album = try add("Album", "A", to: context)
      try add("Item", "I", to: context).setValue(.object(album), forKey: "album")
    }
    for names in [["X"], ["Y"], ["X", "Y"]] {
      let coordinator = try PersistentStoreCoordinator(
        model: MigrationFixture.model([old]), stores: stores(names))
      let defects = try coordinator.verify()
      #expect(defects.isEmpty, "\(names)")
    }
    let new = Self.needy(2, [attribute("note", .string, isOptional: true)])
    for (own, other) in [("X", "Y"), ("Y", "X")] {
      var rehearsal = MigrationRehearsal(stores([own])[0], model: MigrationFixture.model([old, new]))
      rehearsal.otherStores = stores([other])
      let report = try rehearsal.run()
      #expect(report.succeeds && report.brokenRules.isEmpty, "\(own)")
    }
  }
}

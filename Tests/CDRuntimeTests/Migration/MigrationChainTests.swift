import Foundation
import Synchronization
import Testing

@testable import CDRuntime

/// Several steps in one go, branches, drafts, and what is refused.
@Suite(.needs(.migrations)) struct MigrationChainTests {
  static let text = attribute("text", .string)

  /// Six versions: in place, beside, by a mapping, and in place again.
  static let line: [ModelVersion] = {
    let item = [toMany("tags", "Tag", inverse: "items")]
    let tag = entity(
      "Tag", [attribute("label", .string)], relationships: [toMany("items", "Item", inverse: "tags")])
    func version(
      _ number: Int, _ name: String, _ attributes: [AttributeDescription], renamedFrom: String? = nil
    )
      -> ModelVersion
    {
      var tag = tag
      tag.relationships[0].destination = name
      return MigrationFixture.version(
        number, [entity(name, renamedFrom: renamedFrom, attributes, relationships: item), tag])
    }
    let count = attribute("count", .int16, .int(3))
    let wide = attribute("count", .int64, .int(3))
    return [
      version(1, "Item", [text]),
      version(2, "Item", [text, count]),
      version(3, "Item", [text, wide]),
      version(4, "Item", [text, wide]),
      version(
        5, "Thing", [text, attribute("number", .int64, .int(3), renamedFrom: "count")], renamedFrom: "Item"),
      version(
        6, "Thing",
        [
          attribute("text", .string, isOptional: true), attribute("number", .int64, .int(3)),
          attribute("note", .string, .string("n")),
        ]),
    ]
  }()

  static func model(_ versions: ArraySlice<ModelVersion>) throws -> ManagedObjectModel {
    let rules = MappingRules(
      source: 3, destination: 4,
      entities: [
        EntityRule(
          destination: "Item",
          attributes: [PropertyMapping(name: "text", value: try ValueExpression(format: "text + '!'"))])
      ])
    return MigrationFixture.model(
      Array(versions), mappings: versions.contains { $0.number == 4 } ? [rules] : [])
  }

  static func fill(_ context: ManagedObjectContext) throws {
    let tag = try context.insert(entityNamed: "Tag")
    try tag.setValue(.attribute(.string("T")), forKey: "label")
    for number in 0..<3 {
      let item = try context.insert(entityNamed: "Item")
      try item.setValue(.attribute(.string("I\(number)")), forKey: "text")
      if number != 1 { try item.setValue(.objects([tag]), forKey: "tags") }
    }
  }

  static func check(_ fixture: MigrationFixture) throws {
    #expect(
      try fixture.rows("SELECT _pk, text, number, note FROM Thing ORDER BY _pk") == [
        ["1", "I0!", "3", "n"], ["2", "I1!", "3", "n"], ["3", "I2!", "3", "n"],
      ])
    #expect(
      try fixture.rows("SELECT _source, _target FROM \"Tag.items\" UNION SELECT 0, 0 ORDER BY 2") == [
        ["0", "0"], ["1", "1"], ["1", "3"],
      ])
  }

  @Test(arguments: 1...3) func aChainRunsFromEveryVersion(_ start: Int) throws {
    let fixture = try MigrationFixture()
    try fixture.using(Self.model(Self.line[(start - 1)..<start]), body: { try Self.fill($0) })
    let id = try fixture.column("SELECT value FROM _cdgen_metadata WHERE key = 'storeUUID'")
    let fractions = Mutex<[Double]>([])
    try fixture.open(Self.model(Self.line[...])) {
      $0.migrationObserver = MigrationObserver { progress in
        fractions.withLock { $0.append(progress.fraction) }
      }
    }
    #expect(fractions.withLock { $0.last } == 1)
    #expect(fractions.withLock { $0 == $0.sorted() })
    let files = ["store.cdstore", "store.cdstore-before-\(start)"]
    #expect(fixture.files == (StoreKind.ofEnvironment.hasFiles ? files : [files[0]]))
    #expect(try fixture.column("SELECT value FROM _cdgen_metadata WHERE key = 'storeUUID'") == id)
    try fixture.verify(Self.model(Self.line[...]))
    #expect(fixture.files == ["store.cdstore"])
    try Self.check(fixture)
  }

  @Test(.needsFile) func aBackupStaysWhereThatIsWanted() throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.line[0]]) { try Self.fill($0) }
    let bytes = try fixture.column("SELECT text FROM Item")
    for _ in 0..<3 { try fixture.open(Self.model(Self.line[...])) { $0.keepsBackup = true } }
    #expect(fixture.files == ["store.cdstore", "store.cdstore-before-1"])
    let backup = fixture.folder.appending(path: "store.cdstore-before-1")
    #expect(try PlainSQL.connection(to: backup).rows("SELECT text FROM Item").map { $0[0] } == bytes)
  }

  @Test func aMappedStepIsMadeWhereBothVersionsStoreTheSame() throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.line[2]]) { try Self.fill($0) }
    try fixture.open(Self.model(Self.line[..<4]))
    #expect(try fixture.column("SELECT text FROM Item") == ["I0!", "I1!", "I2!"])
    try fixture.open(Self.model(Self.line[..<4]))
    #expect(try fixture.column("SELECT text FROM Item") == ["I0!", "I1!", "I2!"])
  }

  @Test func identifiersStay() throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.line[0]]) { try Self.fill($0) }
    func uris(_ model: ManagedObjectModel) throws -> [URL] {
      try fixture.using(
        model,
        body: { context in
          try context.fetch(FetchRequest<ManagedObject>(entityName: "Tag")).map(\.objectID.uriRepresentation)
        })
    }
    let before = try uris(Self.model(Self.line[..<1]))
    #expect(try uris(Self.model(Self.line[...])) == before)
  }

  // MARK: Refusals

  private func refusal(
    _ fixture: MigrationFixture, _ model: ManagedObjectModel,
    _ change: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> MigrationError? {
    let bytes = try fixture.bytes()
    let error = #expect(throws: MigrationError.self) { try fixture.open(model, change) }
    #expect(try fixture.bytes() == bytes)
    #expect(fixture.files == ["store.cdstore"])
    return error
  }

  @Test func aNewerStoreIsRefused() throws {
    let fixture = try MigrationFixture()
    try fixture.create(Array(Self.line[..<2]))
    #expect(try refusal(fixture, Self.model(Self.line[..<1]))?.reason == .newerStore(current: 1))
  }

  @Test func anUnknownWayIsRefused() throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.line[0]])
    var model = try Self.model(Self.line[..<3])
    model.versions[1].basedOn = []
    #expect(try refusal(fixture, model)?.reason == .noPath)
  }

  @Test func aLossThatNobodyMeantIsRefused() throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.line[1]]) { try Self.fill($0) }
    var without = Self.line[2]
    without.entities[0].attributes.removeLast()
    let error = try refusal(fixture, MigrationFixture.model([Self.line[1], without]))
    guard case .notProven(let changes)? = error?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(changes.count == 1 && changes[0].contains("count"))
    #expect(error?.step?.description == "version 2 to version 3")
  }

  @Test func nothingIsInferredWhereThatIsOff() throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.line[0]])
    let error = try refusal(fixture, Self.model(Self.line[..<2])) {
      $0.infersMappingModelAutomatically = false
    }
    #expect(error?.reason == .noMappingModel)
  }

  @Test func aStoreInUseIsRefused() throws {
    for end in [2, 3] {
      let fixture = try MigrationFixture()
      try fixture.create([Self.line[0]]) { try Self.fill($0) }
      let other = try PersistentStoreCoordinator(model: Self.model(Self.line[..<1]), at: fixture.location)
      if StoreKind.ofEnvironment == .postgresql {
        // A server's store can be migrated while it is open. The former version can then not write.
        let context = ManagedObjectContext(other)
        try context.insert(entityNamed: "Tag").setValue(.attribute(.string("x")), forKey: "label")
        try fixture.open(Self.model(Self.line[..<end])) { $0.busyTimeout = 0.1 }
        #expect(throws: StoreError.replaced(fixture.shownURL)) { try context.save() }
        #expect(try fixture.column("SELECT count(*) FROM Tag WHERE label = 'x'") == ["0"])
        continue
      }
      let error = #expect(throws: (any Error).self) {
        try fixture.open(Self.model(Self.line[..<end])) { $0.busyTimeout = 0.1 }
      }
      // A store that is read whole has one owner, migrated or not.
      if StoreKind.ofEnvironment == .sqlite {
        #expect((error as? MigrationError)?.reason == .inUse)
      } else {
        #expect(error as? StoreError == .inUse(fixture.shownURL))
      }
      let context = ManagedObjectContext(other)
      try context.insert(entityNamed: "Tag").setValue(.attribute(.string("x")), forKey: "label")
      try context.save()
    }
  }

  @Test func duplicatesAreNamed() throws {
    let old = MigrationFixture.version(1, [entity("Item", [Self.text])])
    let new = MigrationFixture.version(2, [entity("Item", [Self.text], unique: [["text"]])])
    let rules = MappingRules(
      source: 1, destination: 2,
      duplicates: [DuplicateRule(entity: "Item", properties: ["text"], survivor: .keepFirst)])
    let fixture = try MigrationFixture()
    try fixture.create([old]) { context in
      for name in ["a", "b", "a"] {
        try context.insert(entityNamed: "Item").setValue(.attribute(.string(name)), forKey: "text")
      }
    }
    try fixture.open(MigrationFixture.model([old, new], mappings: [rules]))
    #expect(try fixture.rows("SELECT _pk, text FROM Item") == [["1", "a"], ["2", "b"]])
  }

  // MARK: Several stores

  /// Items and tags in stores of their own.
  ///
  /// - Parameter names: The configurations; nil for the rest of the entities.
  private static func linked(_ number: Int, _ type: AttributeType, _ names: [String?]) -> ModelVersion {
    var result = MigrationFixture.version(
      number,
      [
        entity(
          "Item", [text, attribute("count", type, .int(3))],
          relationships: [toOne("tag", "Tag", inverse: "items")]),
        entity(
          "Tag", [text, attribute("count", type, .int(4))],
          relationships: [toMany("items", "Item", inverse: "tag")]),
      ])
    result.configurations = zip(names, ["Item", "Tag"]).compactMap { name, entity in
      name.map { ConfigurationDescription(name: $0, entities: [entity]) }
    }
    return result
  }

  private func linkedStores(
    _ fixture: MigrationFixture, _ names: [String?]
  ) -> [PersistentStoreDescription] {
    zip(["a", "b"], names).map { file, name in
      PersistentStoreDescription(
        StoreKind.ofEnvironment.location(fixture.folder.appending(path: file)), configuration: name)
    }
  }

  /// A configuration keeps its name, has another one, is new for the rest of the entities, or is no more.
  @Test(
    arguments: [["A", "B"], ["A", nil]] as [[String?]],
    [["A", "B"], ["Items", "B"], ["Items", "Tags"], ["Items", nil]] as [[String?]])
  func eachOfSeveralStoresIsMigrated(_ old: [String?], _ new: [String?]) throws {
    let fixture = try MigrationFixture()
    let versions = [Self.linked(1, .int16, old), Self.linked(2, .int64, new)]
    do {
      let coordinator = try PersistentStoreCoordinator(
        model: MigrationFixture.model([versions[0]]), stores: linkedStores(fixture, old))
      let context = ManagedObjectContext(coordinator)
      let (item, tag) = (try context.insert(entityNamed: "Item"), try context.insert(entityNamed: "Tag"))
      for object in [item, tag] { try object.setValue(.attribute(.string("t")), forKey: "text") }
      try item.setValue(.object(tag), forKey: "tag")
      try context.save()
    }
    let stores = linkedStores(fixture, new)
    let coordinator = try PersistentStoreCoordinator(model: MigrationFixture.model(versions), stores: stores)
    let context = ManagedObjectContext(coordinator)
    let item = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))[0]
    #expect(try item.value(forKey: "count").attribute == .int(3))
    #expect(try item.value(forKey: "tag").object?.value(forKey: "count").attribute == .int(4))
    #expect(try coordinator.verify().isEmpty)
  }

  /// The second store is newer than the model. The first one could be migrated, but must not be.
  @Test(.onceForAllKinds, arguments: [false, true])
  func aStoreThatIsRefusedKeepsTheOthersFromMigrating(isFile: Bool) throws {
    let fixture = try MigrationFixture()
    let (first, second) = (fixture.folder.appending(path: "a"), fixture.folder.appending(path: "b"))
    let stores = [
      PersistentStoreDescription(.sqlite(first), configuration: "A"),
      PersistentStoreDescription(isFile ? .xml(second) : .sqlite(second), configuration: "B"),
    ]
    let types: [AttributeType] = [.int16, .int64, .int32]
    let versions = types.enumerated().map { Self.linked($0.offset + 1, $0.element, ["A", "B"]) }
    _ = try PersistentStoreCoordinator(model: MigrationFixture.model([versions[0]]), stores: [stores[0]])
    _ = try PersistentStoreCoordinator(model: MigrationFixture.model([versions[2]]), stores: [stores[1]])
    let model = MigrationFixture.model(Array(versions.prefix(2)))
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: model, stores: stores)
    }
    #expect(error?.reason == .newerStore(current: 2))
    #expect(try PersistentStoreCoordinator.metadata(forStoreAt: first).modelVersion.number == 1)
  }

  /// The second store has the entities of a configuration that nobody asks for any more, and the rest. Nothing tells so, as
  /// the first store's configuration has another name too.
  @Test(.onceForAllKinds) func aStoreOfUnknownEntitiesKeepsTheOthersFromMigrating() throws {
    let fixture = try MigrationFixture()
    let urls = ["a", "b"].map { fixture.folder.appending(path: $0) }
    func version(_ number: Int, _ type: AttributeType, _ name: String) -> ModelVersion {
      var result = MigrationFixture.version(
        number,
        ["Item", "Log", "Tag"].map { entity($0, [Self.text, attribute("count", type, .int(3))]) })
      result.configurations = [
        ConfigurationDescription(name: name, entities: ["Item"]),
        ConfigurationDescription(name: "C", entities: ["Log"]),
      ]
      return result
    }
    func stores(_ name: String) -> [PersistentStoreDescription] {
      zip(urls, [name, nil]).map { PersistentStoreDescription(.sqlite($0), configuration: $1) }
    }
    let versions = [version(1, .int16, "A"), version(2, .int64, "Items")]
    _ = try PersistentStoreCoordinator(model: MigrationFixture.model([versions[0]]), stores: stores("A"))
    #expect(throws: ModelError.unknownConfiguration("Items")) {
      try PersistentStoreCoordinator(model: MigrationFixture.model(versions), stores: stores("Items"))
    }
    for url in urls {
      let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: url)
      #expect(metadata.modelVersion.number == 1)
    }
  }

  /// The second store is locked. The check before the migration of the first one waits no longer than the opening does.
  @Test(.onceForAllKinds) func aLaterStoreInUseIsAwaitedAsLongAsItsDescriptionSays() throws {
    let fixture = try MigrationFixture()
    let urls = ["a", "b"].map { fixture.folder.appending(path: $0) }
    let stores = zip(urls, ["A", "B"]).map { url, name in
      PersistentStoreDescription(.sqlite(url), configuration: name, busyTimeout: 0)
    }
    let versions = [Self.linked(1, .int16, ["A", "B"]), Self.linked(2, .int64, ["A", "B"])]
    _ = try PersistentStoreCoordinator(model: MigrationFixture.model([versions[0]]), stores: stores)
    let other = try SQLiteConnection(path: urls[1].path(percentEncoded: false), of: [])
    _ = try other.scalar("PRAGMA locking_mode = EXCLUSIVE")
    try other.execute("BEGIN EXCLUSIVE; CREATE TABLE theirs (x); COMMIT")
    let start = ContinuousClock.now
    #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator(model: MigrationFixture.model(versions), stores: stores)
    }
    // The check once waited 10 seconds, whatever the description said.
    #expect(start.duration(to: .now) < .seconds(8))
    withExtendedLifetime(other) {}
  }

  /// Nothing tells which entities of version 2 the store has.
  @Test(.onceForAllKinds) func aConfigurationWithThreeNamesIsRefused() throws {
    let fixture = try MigrationFixture()
    let versions = [
      Self.linked(1, .int16, ["A", "B"]), Self.linked(2, .int64, ["C", "D"]),
      Self.linked(3, .int64, ["E", "F"]),
    ]
    // The store is unchanged, and can be opened with its own version afterwards.
    for _ in 0..<2 {
      _ = try PersistentStoreCoordinator(
        model: MigrationFixture.model([versions[0]]), stores: linkedStores(fixture, ["A", "B"]))
      // Which of the two names is reported depends on the order in which the stores are read.
      let error = #expect(throws: ModelError.self) {
        try PersistentStoreCoordinator(
          model: MigrationFixture.model(versions), stores: linkedStores(fixture, ["E", "F"]))
      }
      #expect(error == .unknownConfiguration("E") || error == .unknownConfiguration("F"))
    }
  }

  /// Two versions: the hierarchies of `Alpha` and `Tag`, in a store of their own, become one. Items refer to both, or to tags
  /// only.
  private static func joined(refersToBoth: Bool) -> [ModelVersion] {
    var relationships = [toOne("tag", "Tag", inverse: nil)]
    if refersToBoth { relationships.append(toOne("alpha", "Alpha", inverse: nil)) }
    let item = entity("Item", [text], relationships: relationships)
    var old = MigrationFixture.version(1, [item, entity("Alpha", [text]), entity("Tag", [text])])
    var new = MigrationFixture.version(
      2,
      [
        item, entity("Base", isAbstract: true, [text]), entity("Alpha", parent: "Base"),
        entity("Tag", parent: "Base"),
      ])
    let outer = ConfigurationDescription(name: "A", entities: ["Item"])
    old.configurations = [outer, ConfigurationDescription(name: "B", entities: ["Alpha", "Tag"])]
    new.configurations = [outer, ConfigurationDescription(name: "B", entities: ["Base", "Alpha", "Tag"])]
    return [old, new]
  }

  private func fillJoined(_ stores: [PersistentStoreDescription], _ versions: [ModelVersion]) throws {
    let coordinator = try PersistentStoreCoordinator(
      model: MigrationFixture.model([versions[0]]), stores: stores)
    let context = ManagedObjectContext(coordinator)
    let objects = try ["Alpha", "Tag", "Item"].map { name in
      let object = try context.insert(entityNamed: name)
      try object.setValue(.attribute(.string(name)), forKey: "text")
      return object
    }
    try objects[2].setValue(.object(objects[1]), forKey: "tag")
    try context.save()
  }

  @Test func objectsKeepTheKeysThatAnotherStoreContains() throws {
    let fixture = try MigrationFixture()
    let stores = descriptions(fixture, ["A", "B"])
    let versions = Self.joined(refersToBoth: false)
    try fillJoined(stores, versions)
    let coordinator = try PersistentStoreCoordinator(model: MigrationFixture.model(versions), stores: stores)
    let context = ManagedObjectContext(coordinator)
    let item = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))[0]
    #expect(try item.value(forKey: "tag").object?.value(forKey: "text").attribute == .string("Tag"))
    let alphas = try context.fetch(FetchRequest<ManagedObject>(entityName: "Alpha"))
    #expect(try alphas.map { try $0.value(forKey: "text").attribute } == [.string("Alpha")])
    #expect(try coordinator.verify().isEmpty)
  }

  /// Only one of the hierarchies could keep its keys.
  @Test func keysThatAnotherStoreContainsAreNotChanged() throws {
    let fixture = try MigrationFixture()
    let stores = descriptions(fixture, ["A", "B"])
    let versions = Self.joined(refersToBoth: true)
    try fillJoined(stores, versions)
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: MigrationFixture.model(versions), stores: stores)
    }
    #expect(error?.entity == "Tag")
    guard case .notProven(let reasons)? = error?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reasons.count == 1 && reasons[0].contains("Item.tag"))
  }

  private static func divided(_ number: Int, _ configurations: [String: [String]]) -> ModelVersion {
    var result = MigrationFixture.version(number, [entity("Note", [text]), entity("Log", [text])])
    result.configurations = configurations.sorted { $0.key < $1.key }.map {
      ConfigurationDescription(name: $0.key, entities: $0.value)
    }
    return result
  }

  private func descriptions(
    _ fixture: MigrationFixture, _ configurations: [String?]
  ) -> [PersistentStoreDescription] {
    configurations.map { name in
      PersistentStoreDescription(
        StoreKind.ofEnvironment.location(fixture.folder.appending(path: name ?? "Rest")), configuration: name)
    }
  }

  /// Saves an object of each entity.
  private func fill(
    _ stores: [PersistentStoreDescription], _ version: ModelVersion, _ names: [String]
  ) throws {
    let context = ManagedObjectContext(
      try PersistentStoreCoordinator(model: MigrationFixture.model([version]), stores: stores))
    for name in names {
      try context.insert(entityNamed: name).setValue(.attribute(.string(name)), forKey: "text")
    }
    try context.save()
  }

  private func names(_ stores: [PersistentStoreDescription], _ model: ManagedObjectModel) throws -> [String] {
    let coordinator = try PersistentStoreCoordinator(model: model, stores: stores)
    let context = ManagedObjectContext(coordinator)
    #expect(try coordinator.verify().isEmpty)
    return try ["Log", "Note"].filter {
      try !context.fetch(FetchRequest<ManagedObject>(entityName: $0)).isEmpty
    }
  }

  /// The first store had all entities, and the second one is new.
  @Test func aWholeStoreThatIsDividedLosesNoObjects() throws {
    let fixture = try MigrationFixture()
    let old = Self.divided(1, [:])
    let model = MigrationFixture.model([old, Self.divided(2, ["Local": ["Log"], "Cloud": ["Note"]])])
    let location = descriptions(fixture, ["Local"])[0].location
    try fill([PersistentStoreDescription(location)], old, ["Note", "Log"])
    let stores = descriptions(fixture, ["Local", "Cloud"])
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: model, stores: stores)
    }
    #expect(error?.reason == .leavesStore && error?.entity == "Note" && error?.objectKey == 1)
    // The objects are still there, and the store can be opened as a whole.
    #expect(try names([PersistentStoreDescription(location)], model) == ["Log", "Note"])
  }

  @Test func aStoreWithoutObjectsOfALeavingEntityIsDivided() throws {
    let fixture = try MigrationFixture()
    let old = Self.divided(1, [:])
    let model = MigrationFixture.model([old, Self.divided(2, ["Local": ["Log"], "Cloud": ["Note"]])])
    let stores = descriptions(fixture, ["Local", "Cloud"])
    try fill([PersistentStoreDescription(stores[0].location)], old, ["Log"])
    #expect(try names(stores, model) == ["Log"])
  }

  /// The store without a configuration had the entity, because no configuration listed it.
  @Test func anEntityThatLeavesTheRestLosesNoObjects() throws {
    let fixture = try MigrationFixture()
    let old = Self.divided(1, ["Cloud": ["Note"]])
    let model = MigrationFixture.model([old, Self.divided(2, ["Cloud": ["Note", "Log"]])])
    let stores = descriptions(fixture, ["Cloud", nil])
    try fill(stores, old, ["Note", "Log"])
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: model, stores: stores)
    }
    #expect(error?.reason == .leavesStore && error?.entity == "Log" && error?.objectKey == 1)
  }

  @Test func aConfirmedLossLeavesTheStore() throws {
    let fixture = try MigrationFixture()
    let old = Self.divided(1, ["Cloud": ["Note", "Log"]])
    let drop = MappingRules(source: 1, destination: 2, drops: ["Cloud.Log"])
    let model = MigrationFixture.model(
      [old, Self.divided(2, ["Cloud": ["Note"], "Local": ["Log"]])], mappings: [drop])
    let stores = descriptions(fixture, ["Cloud", "Local"])
    try fill([stores[0]], old, ["Note", "Log"])
    #expect(try names(stores, model) == ["Note"])
  }

  // MARK: Drafts

  @Test func aDraftIsMigratedWhereNothingIsLost() throws {
    let fixture = try MigrationFixture()
    var draft = Self.line[1]
    draft.entities[0].attributes[1].type = .int32
    draft.entities[0].attributes.append(attribute("gone", .string, isOptional: true))
    try fixture.create([Self.line[0], draft]) { try Self.fill($0) }
    let error = try refusal(fixture, Self.model(Self.line[..<3]))
    guard case .losesData(let changes, _)? = error?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(changes.contains { $0.contains("gone") })

    let other = try MigrationFixture()
    var early = Self.line[2]
    early.entities[0].attributes.removeLast()
    try other.create([Self.line[0], early]) { try Self.fill($0) }
    try other.open(Self.model(Self.line[...]))
    try Self.check(other)
  }

  // MARK: Cancellation

  @Test(arguments: [2, 3]) func aCancelledMigrationLeavesTheStoreAsItWas(_ end: Int) throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.line[0]]) { try Self.fill($0) }
    let calls = Mutex(0)
    var limit = 0
    var done = false
    while !done {
      calls.withLock { $0 = 0 }
      let most = limit
      do {
        try fixture.open(Self.model(Self.line[..<end])) {
          $0.migrationObserver = MigrationObserver(isCancelled: {
            calls.withLock {
              $0 += 1
              return $0 > most
            }
          })
        }
        done = true
      } catch let error as MigrationError {
        #expect(error.reason == .cancelled)
        #expect(fixture.files == ["store.cdstore"])
        #expect(try fixture.column("SELECT text FROM Item ORDER BY _pk") == ["I0", "I1", "I2"])
      }
      limit += 1
    }
    #expect(limit > 3)
  }
}

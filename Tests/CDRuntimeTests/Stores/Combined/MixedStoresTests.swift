import Foundation
import SeededRandom
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Stores of a file and of a server under one coordinator do what two files do.
@Suite(.serialized, .enabled(if: TestServer.isConfigured, "no server: run .ci/postgresql"))
struct MixedStoresTests {
  typealias Mix = MixedStores.Mix

  private static let formats: [(entity: String, format: String)] = [
    ("Note", "author.name == 'p1'"), ("Note", "author == nil"), ("Note", "author != nil AND stars > 2"),
    ("Note", "ANY markedBy.name BEGINSWITH 'p'"), ("Note", "markedBy.@count > 1"),
    ("Note", "holder.card.text == text"), ("Note", "subject.age > 10 OR stars == 1"),
    ("Note", "NOT (author.name == 'p2')"), ("Note", "author.age + stars > 12"),
    ("Note", "SUBQUERY(markedBy, $p, $p.age > 5).@count > 0"), ("Note", "author.notes.@count > 1"),
    ("Person", "ANY notes.stars > 3"), ("Person", "notes.@count == 0"), ("Person", "card.stars == 2"),
    ("Person", "ALL marks.stars > 1"), ("Person", "favourites.@count > 0 AND age > 3"),
    ("Person", "notes.@sum.stars > 4"), ("Person", "card == nil OR age == nil"),
    ("Person", "age BETWEEN {2, 12}"), ("Person", "ANY notes.author.name == 'p3'"),
  ]

  /// Each mix of stores gets the same changes. Another coordinator then reads the same objects from each of them, and gets the
  /// same answers.
  @Test(arguments: [1, 2, 3])
  func theSameChangesLeadToTheSameContents(seed: UInt64) throws {
    let stores = try Mix.allCases.map(MixedStores.init)
    for store in stores {
      var random = SplitMix(seed: seed)
      let context = try store.context()
      for round in 0..<6 {
        try change(context, round, &random)
        try context.save()
      }
    }
    let contents = try stores.map { try MixedStores.contents($0.context()) }
    #expect(contents[0].count > 30)
    #expect(contents[1] == contents[0])
    #expect(contents[2] == contents[0])
    for (entity, format) in Self.formats {
      let answers = try stores.map { try MixedStores.names(entity, format, $0.context()) }
      #expect(answers[1] == answers[0] && answers[2] == answers[0], "\(format)")
      let counts = try stores.map { store in
        try store.context().count(
          for: FetchRequest<ManagedObject>(entityName: entity, where: FetchPredicate(format: format)))
      }
      #expect(Set(counts) == [answers[0].count], "\(format)")
    }
    for keyPath in ["author.name", "subject.age", "text"] {
      let orders = try stores.map {
        try MixedStores.names("Note", "TRUEPREDICATE", $0.context(), sortedBy: keyPath)
      }
      #expect(orders[1] == orders[0] && orders[2] == orders[0], "\(keyPath)")
    }
    // References without an inverse lead to deleted objects in another store, in files too.
    let findings = try stores.map { try $0.coordinator().verify().map { "\($0)" }.sorted() }
    #expect(findings[1] == findings[0] && findings[2] == findings[0])
  }

  /// Inserts, relates, reorders and deletes objects.
  private func change(
    _ context: ManagedObjectContext, _ round: Int, _ random: inout SplitMix
  ) throws {
    for number in 0..<4 {
      let person = try MixedStores.add("Person", "p\(round * 4 + number)", context)
      if number != 1 { try person.setValue(Int64(round * 3 + number), forKey: "age") }
    }
    for number in 0..<8 {
      let note = try MixedStores.add("Note", "n\(round * 8 + number)", context)
      try note.setValue(Int64(number % 5), forKey: "stars")
      if number == 3 { try note.setValue(Data(repeating: 7, count: 50_000), forKey: "scan") }
    }
    func all(_ entity: String) throws -> [ManagedObject] {
      try context.objects(forEntityNamed: entity, format: "TRUEPREDICATE").map {
        (try MixedStores.name($0), $0)
      }
      .sorted { $0.0 < $1.0 }.map(\.1)
    }
    let (people, notes) = (try all("Person"), try all("Note"))
    func one(_ list: [ManagedObject]) throws -> ManagedObject {
      try #require(list.randomElement(using: &random))
    }
    for _ in 0..<12 {
      try one(notes).setValue(one(people), forKey: "author")
      try one(notes).setValue(one(people), forKey: "subject")
      try one(people).setValue(one(notes), forKey: "card")
      try one(people).setValue([one(notes), one(notes)], forKey: "favourites")
      let person = try one(people)
      guard case .objects(var marks) = try person.value(forKey: "marks") else { continue }
      let note = try one(notes)
      if let index = marks.firstIndex(where: { $0 === note }) { marks.remove(at: index) }
      marks.insert(note, at: marks.count / 2)
      if marks.count > 5 { marks.removeFirst() }
      try person.setValue(marks, forKey: "marks")
    }
    if round % 2 == 1 {
      context.delete(try one(people))
      context.delete(try one(notes))
    }
  }

  // MARK: Saves

  private func both(_ context: ManagedObjectContext, _ number: Int) throws -> (ManagedObject, ManagedObject) {
    let person = try MixedStores.add("Person", "p\(number)", context)
    let note = try MixedStores.add("Note", "n\(number)", context)
    try note.setValue(person, forKey: "author")
    return (person, note)
  }

  private func counts(_ store: MixedStores) throws -> [Int] {
    let context = try store.context()
    return try ["Person", "Note"].map { try context.count(for: FetchRequest<ManagedObject>(entityName: $0)) }
  }

  /// The server refuses its part, at any statement: nothing is written to the file either.
  @Test(arguments: Mix.mixed) func whatTheServerRefusesIsInNoStore(mix: Mix) throws {
    let store = try MixedStores(mix)
    let context = try store.context()
    _ = try both(context, 1)
    try context.save()
    // A unique value that another context has taken.
    let other = try store.context()
    _ = try both(other, 2)
    try other.save()
    let (person, note) = try both(context, 2)
    #expect(throws: SaveError.self) { try context.save() }
    #expect(try counts(store) == [2, 2])
    try person.setValue("p3", forKey: "name")
    try note.setValue("n3", forKey: "text")
    try context.save()
    #expect(try counts(store) == [3, 3])
    #expect(try store.coordinator().verify() == [])
  }

  /// The disk is full when the file's part becomes final, after the server's: the save says which one is written, and the
  /// next one writes the rest.
  @Test(arguments: Mix.mixed) func aFullDiskLeavesTheServersPart(mix: Mix) throws {
    try FullDisk.install()
    let store = try MixedStores(mix)
    let context = try store.context()
    let (person, note) = try both(context, 1)
    let error = FullDisk.whileFull { #expect(throws: SaveError.self) { try context.save() } }
    guard case .partlySaved(let written, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(written == [TestServer.shownURL(store.serverFile)])
    #expect(reason == .diskFull([store.file]))
    let (there, here) = mix == .peopleOnServer ? (person, note) : (note, person)
    #expect(!there.isInserted && here.isInserted && context.hasChanges)
    #expect(
      try store.coordinator().verify().contains {
        if case .incompleteSave(_, there.objectID.storeID, [here.objectID.storeID]) = $0 {
          true
        } else {
          false
        }
      })
    try context.save()
    #expect(try counts(store) == [1, 1])
    #expect(try store.coordinator().verify() == [])
    #expect(try MixedStores.names("Note", "author.name == 'p1'", store.context()) == ["n1"])
  }

  /// The connection is lost after the server's part has become final, and then the file's part fails: it is still known that
  /// the server's part is written.
  @Test(arguments: Mix.mixed) func aLostConnectionDoesNotHideTheServersPart(mix: Mix) throws {
    try FullDisk.install()
    let store = try MixedStores(mix)
    let name = "partly \(UUID())"
    let context = try store.context { $0.applicationName = name }
    func endingConnections<R>(_ body: () throws -> R) rethrows -> R {
      try FullDisk.whileFull(
        beforeFirstFailure: {
          do {
            let isEnded = try TestServer.endConnections(named: name)
            #expect(isEnded)
          } catch { Issue.record(error) }
        }, body)
    }
    _ = try both(context, 1)
    let error = endingConnections { #expect(throws: SaveError.self) { try context.save() } }
    guard case .partlySaved(let written, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(written == [TestServer.shownURL(store.serverFile)])
    #expect(reason == .diskFull([store.file]))
    try context.save()
    #expect(try counts(store) == [1, 1])
    #expect(try store.coordinator().verify() == [])
    // The same for a batch.
    let request = BatchDeleteRequest(FetchRequest<ManagedObject>(entityName: "Person"))
    let refusal = endingConnections { #expect(throws: BatchError.self) { try context.execute(request) } }
    guard case .partlyWritten(let stores, _, _)? = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    #expect(stores == [TestServer.shownURL(store.serverFile)])
    #expect(try counts(store) == (mix == .peopleOnServer ? [0, 1] : [1, 0]))
  }

  /// A batch is written in part in the same way. Its error lists the objects that are left.
  @Test(arguments: Mix.mixed) func aFullDiskLeavesTheServersPartOfABatch(mix: Mix) throws {
    try FullDisk.install()
    let store = try MixedStores(mix)
    let context = try store.context()
    let (person, note) = try both(context, 1)
    try context.save()
    let (there, here) = mix == .peopleOnServer ? (person, note) : (note, person)
    let request = BatchDeleteRequest(FetchRequest<ManagedObject>(entityName: "Person"))
    let error = BatchError.partlyWritten(
      written: [TestServer.shownURL(store.serverFile)],
      missing: ObjectChanges(deleted: ManagedObjectIDs([here.objectID])), reason: .diskFull([store.file]))
    FullDisk.whileFull { #expect(throws: error) { try context.execute(request) } }
    #expect(there.isInaccessible && !here.isInaccessible)
    #expect(try counts(store) == (mix == .peopleOnServer ? [0, 1] : [1, 0]))
    // The same batch finds people who are left, and nothing else.
    #expect(try context.execute(request).count == (mix == .peopleOnServer ? 0 : 1))
    if mix == .peopleOnServer {
      context.delete(here)
      try context.save()
    }
    #expect(try counts(store) == [0, 0])
    #expect(
      try store.coordinator().verify().allSatisfy {
        if case .incompleteSave = $0 { true } else { false }
      })
  }

  /// After a save that has reached only the server, the next save may change objects there too.
  @Test(arguments: Mix.mixed, [true, false])
  func theServersPartCanBeChangedBeforeTheRestIsSaved(mix: Mix, isRolledBack: Bool) throws {
    try FullDisk.install()
    let store = try MixedStores(mix)
    let context = try store.context()
    let (person, note) = try both(context, 1)
    FullDisk.whileFull { #expect(throws: SaveError.self) { try context.save() } }
    let there = mix == .peopleOnServer ? person : note
    if isRolledBack { context.rollback() }
    for name in ["changed", "changed again"] {
      try there.setValue(name, forKey: mix == .peopleOnServer ? "name" : "text")
      try context.save()
    }
    #expect(!context.hasChanges)
    let isOnServer = mix == .peopleOnServer
    #expect(try counts(store) == (isRolledBack ? (isOnServer ? [1, 0] : [0, 1]) : [1, 1]))
    #expect(try MixedStores.name(store.context().existingObject(with: there.objectID)) == "changed again")
    // After the rollback, the second store never gets its part of the first save.
    #expect(try store.coordinator().verify().isEmpty == !isRolledBack)
  }

  /// A save that concerns only the file needs no server, and one that concerns only the server does not lock the file.
  @Test(arguments: Mix.mixed) func eachPartIsUsedOnlyIfItIsNeeded(mix: Mix) throws {
    let store = try MixedStores(mix)
    let context = try store.context()
    let (person, note) = try both(context, 1)
    try context.save()
    let (there, here) = mix == .peopleOnServer ? (person, note) : (note, person)
    let lock = try PostgresConnection.open(TestServer.server(schema: "public"), toWrite: true)
    defer { lock.close() }
    let names = try TestServer.files(store.serverFile)
    #expect(names.count == 1)
    guard case .engine(let location) = TestServer.location(store.serverFile),
      let server = location.details as? PostgresServer
    else { return }
    try lock.run("BEGIN")
    // Who has this row can save, and nobody else.
    try lock.run(
      #"SELECT 1 FROM \#(PostgresTables.systemTable("_cdgen_keys", schema: server.schema)) WHERE "entity" = '_cdgen_history' FOR UPDATE"#
    )
    try here.setValue("changed", forKey: mix == .peopleOnServer ? "text" : "name")
    try context.save()
    try lock.run("ROLLBACK")
    let file = try SQLiteConnection(path: store.file.path(percentEncoded: false), of: [store.file])
    try file.execute("BEGIN IMMEDIATE")
    try there.setValue("changed too", forKey: mix == .peopleOnServer ? "name" : "text")
    try context.save()
    try file.execute("ROLLBACK")
    #expect(try MixedStores.name(store.context().existingObject(with: there.objectID)) == "changed too")
    #expect(try MixedStores.name(store.context().existingObject(with: here.objectID)) == "changed")
  }

  @Test(arguments: Mix.mixed) func manyWriteBothAtOnce(mix: Mix) throws {
    let store = try MixedStores(mix)
    let coordinators = try (0..<2).map { _ in try store.coordinator() }
    DispatchQueue.concurrentPerform(iterations: 6) { writer in
      do {
        let context = PersistentContainer(coordinators[writer % 2]).newContext()
        for number in 0..<10 {
          let person = try MixedStores.add("Person", "\(writer) \(number)", context)
          let note = try MixedStores.add("Note", "\(writer) \(number)", context)
          try note.setValue(person, forKey: "author")
          try context.save()
        }
        withExtendedLifetime(context) {}
      } catch { Issue.record(error) }
    }
    #expect(try counts(store) == [60, 60])
    #expect(try coordinators[0].verify() == [])
    let history = try coordinators[0].history()
    #expect(history.count == 120)
    #expect(history.flatMap { $0.changes.inserted }.count == 120)
  }

  @Test(arguments: Mix.mixed) func aConflictNamesObjectsOfBoth(mix: Mix) throws {
    let store = try MixedStores(mix)
    let context = try store.context()
    let (person, note) = try both(context, 1)
    try context.save()
    let other = try store.context()
    try other.existingObject(with: person.objectID).setValue(Int64(1), forKey: "age")
    try other.existingObject(with: note.objectID).setValue(Int64(1), forKey: "stars")
    try person.setValue(Int64(2), forKey: "age")
    try note.setValue(Int64(2), forKey: "stars")
    try other.save()
    let error = #expect(throws: SaveError.self) { try context.save() }
    guard case .conflict(let conflicts)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(Set(conflicts.map(\.objectID)) == [person.objectID, note.objectID])
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try MixedStores.names("Note", "stars == 2 AND author.age == 2", store.context()) == ["n1"])
  }

  // MARK: Batches, history, migration, removal

  @Test(arguments: Mix.allCases) func batchesReachTheOtherStore(mix: Mix) throws {
    let store = try MixedStores(mix)
    let context = try store.context()
    for number in 0..<6 {
      let (person, note) = try both(context, number)
      try person.setValue(Int64(number), forKey: "age")
      try person.setValue([note], forKey: "marks")
      try person.setValue(note, forKey: "card")
    }
    try context.save()
    func request(_ entity: String, _ format: String) throws -> FetchRequest<ManagedObject> {
      FetchRequest<ManagedObject>(entityName: entity, where: try FetchPredicate(format: format))
    }
    let updated = try context.execute(
      BatchUpdateRequest(
        try request("Note", "author.age > 3"), set: [.set("stars", to: .attribute(.int(9)))]))
    #expect(updated.count == 2)
    #expect(try MixedStores.names("Note", "stars == 9", store.context()) == ["n4", "n5"])
    let calculated = try context.execute(
      BatchUpdateRequest(
        try request("Note", "stars == 9"), set: [.set("stars", to: ValueExpression.keyPath("author.age"))]))
    #expect(calculated.count == 2)
    #expect(try MixedStores.names("Note", "stars == author.age", store.context()) == ["n4", "n5"])
    let person = try context.objects(forEntityNamed: "Person", format: "name == 'p0'")[0]
    try context.execute(
      BatchUpdateRequest(
        try request("Note", "text == 'n1'"), set: [.set("author", to: .object(person.objectID))]))
    #expect(try MixedStores.names("Note", "author.name == 'p0'", store.context()) == ["n0", "n1"])
    // The rules reach the notes in the other store: they are deleted, and their pairs and references are gone.
    let deleted = try context.execute(BatchDeleteRequest(try request("Person", "name == 'p0'")))
    #expect(deleted.count == 1)
    #expect(deleted.changes.deleted.count == 3)
    #expect(try MixedStores.names("Note", "TRUEPREDICATE", store.context()) == ["n2", "n3", "n4", "n5"])
    let rest = try MixedStores.contents(store.context())
    #expect(rest.contains { $0.hasPrefix("Person p1 ") && $0.contains("notes: [] marks: [] card: nil") })
    try context.execute(BatchDeleteRequest(try request("Note", "author.name == 'p2'")))
    let inserted = try context.execute(
      BatchInsertRequest<ManagedObject>(
        entityName: "Note",
        rows: (0..<700).map { ["text": .attribute(.string("new \($0)")), "author": .object(nil)] }))
    #expect(inserted.count == 700)
    #expect(try counts(store) == [5, 703])
    #expect(try store.coordinator().verify() == [])
    #expect(try store.coordinator().history().count >= 7)
  }

  @Test(arguments: Mix.mixed)
  func bothAreMigrated(mix: Mix) throws {
    let store = try MixedStores(mix)
    let before = try {
      let context = PersistentContainer(try store.coordinator()).newContext()
      for number in 0..<3 { _ = try both(context, number) }
      try context.save()
      return try MixedStores.contents(context)
    }()
    let coordinator = try store.coordinator(MixedStores.newModel)
    #expect(coordinator.migrations.count == 2)
    let context = PersistentContainer(coordinator).newContext()
    #expect(try MixedStores.contents(context) == before)
    let note = try context.objects(forEntityNamed: "Note", format: "author.name == 'p1'")[0]
    try note.setValue("glad", forKey: "mood")
    try context.save()
    #expect(try MixedStores.names("Note", "mood == 'glad'", context) == ["n1"])
    #expect(try coordinator.verify() == [])
    // A program of the old version opens neither.
    #expect(throws: (any Error).self) { try store.coordinator() }
  }

  @Test(arguments: Mix.mixed, [0, 1]) func aStoreIsRemoved(mix: Mix, removed: Int) throws {
    let store = try MixedStores(mix)
    let coordinator = try store.coordinator()
    let context = PersistentContainer(coordinator).newContext()
    let (person, note) = try both(context, 1)
    try person.setValue([note], forKey: "marks")
    try context.save()
    try coordinator.removePersistentStore(withID: coordinator.storeIDs[removed])
    let fresh = PersistentContainer(coordinator).newContext()
    if removed == 0 {
      let left = try fresh.existingObject(with: note.objectID)
      #expect(try left.value(forKey: "author") == .object(nil))
      #expect(try left.value(forKey: "markedBy") == .objects([]))
      #expect(try MixedStores.names("Note", "author == nil", fresh) == ["n1"])
    } else {
      let left = try fresh.existingObject(with: person.objectID)
      #expect(try left.value(forKey: "notes") == .objects([]))
      #expect(try left.value(forKey: "marks") == .objects([]))
      #expect(try MixedStores.names("Person", "notes.@count == 0", fresh) == ["p1"])
    }
    #expect(try coordinator.verify() == [])
  }

  /// What another program has deleted from one of the stores is found.
  @Test(arguments: Mix.mixed) func danglingReferencesAreFound(mix: Mix) throws {
    let store = try MixedStores(mix)
    let context = try store.context()
    let (person, note) = try both(context, 1)
    try person.setValue([note], forKey: "marks")
    try context.save()
    if mix == .peopleOnServer {
      guard case .engine(let location) = TestServer.location(store.serverFile),
        let server = location.details as? PostgresServer
      else { return }
      let connection = try PostgresConnection.open(server, toWrite: true)
      defer { connection.close() }
      try connection.run("DELETE FROM \(PostgresTables.systemTable("Person", schema: server.schema))")
    } else {
      try PlainSQL.run("DELETE FROM Person", at: store.file)
    }
    let findings = try store.coordinator().verify()
    #expect(findings.contains(.danglingReference(entity: "Note", key: 1, destination: "Person")))
    let fresh = try store.context()
    #expect(try fresh.existingObject(with: note.objectID).value(forKey: "author") == .object(nil))
    #expect(try fresh.existingObject(with: note.objectID).value(forKey: "markedBy") == .objects([]))
  }

  @Test func aServerThatIsAwayIsToldOfAndTheNextOpeningWorks() throws {
    let store = try MixedStores(.peopleOnServer)
    let error = #expect(throws: StoreError.self) {
      try store.coordinator(MixedStores.model) { $0.hosts = [PostgresServer.Host("127.0.0.1", port: 1)] }
    }
    guard case .engine(_, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.isOfConnection)
    #expect(try counts(store) == [0, 0])
  }
}

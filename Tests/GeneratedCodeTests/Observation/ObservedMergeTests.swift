import Foundation
import Observation
import Testing

@testable import CDRuntime

/// What others have saved is told of observable objects once it has been learnt.
@Suite struct ObservedMergeTests {
  @Test(arguments: StorePlace.allCases)
  func aFetchTellsWhatItLearns(place: StorePlace) throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    let (piece, maker) = (room.piece, room.maker)
    let follows = [
      FollowedReads { piece.heading }, FollowedReads { maker.works }, FollowedReads { room.listener.pieces },
    ]
    let rest = FollowedReads { (room.other.heading, room.shelf.label, room.listener.name) }
    try room.changeElsewhere {
      $0.heading = "Suite"
      $0.maker = nil
    }
    #expect(follows.map(\.isTold) == [false, false, false])
    _ = try Shelf.objects(in: room.context)
    #expect(follows.map(\.isTold) == [true, true, true] && !rest.isTold)
    #expect(piece.heading == "Suite" && maker.works.isEmpty)
  }

  @Test(arguments: StorePlace.allCases)
  func mergedChangesAreTold(place: StorePlace) throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    let piece = room.piece
    let reads = FollowedReads { piece.heading }
    let rest = FollowedReads { room.other.heading }
    let context = room.store.container.newContext()
    let result = try context.execute(
      BatchUpdateRequest<Piece>(where: \.heading == "Prelude", set: [.set(\.heading, to: "Suite")]))
    room.context.mergeChanges(from: result.changes)
    #expect(reads.isTold && !rest.isTold && piece.heading == "Suite")
  }

  @Test func anObjectWithChangesOfItsOwnIsLeftAlone() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    room.piece.code = "1"
    let reads = FollowedReads { (room.piece.heading, room.piece.code) }
    try room.changeElsewhere { $0.heading = "Suite" }
    _ = try Shelf.objects(in: room.context)
    #expect(!reads.isTold && room.piece.heading == "Prelude")
  }

  /// An observer of the value that is being set fetches, which tells of another context's save of the object.
  @Test(arguments: StorePlace.allCases)
  func aValueIsKeptWhoseObserverLearnsOfASave(place: StorePlace) throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    // Observers are told by the thread that changes the object, which is the test's.
    nonisolated(unsafe) let (piece, context) = (room.piece, room.context)
    func follow<Value>(_ read: () -> Value) {
      withObservationTracking {
        _ = read()
      } onChange: {
        _ = try? Shelf.objects(in: context)
      }
    }
    follow { piece.heading }
    try room.changeElsewhere { $0.code = "1" }
    piece.heading = "Suite"
    #expect(piece.heading == "Suite" && piece.code == "1")
    try context.save()
    follow { piece.maker }
    try room.changeElsewhere { $0.code = "2" }
    piece.maker = nil
    #expect(piece.maker == nil && piece.code == "2")
    try context.save()
    let fresh = room.store.container.newContext()
    let stored = try #require(try fresh.existingObject(with: piece.objectID) as? Piece)
    #expect(stored.heading == "Suite" && stored.code == "2" && stored.maker == nil)
  }

  /// An observer of the value that is being set fetches, which tells of another context's deletion of the object.
  @Test(arguments: StorePlace.allCases, ["heading", "maker"])
  func aValueIsLostLoudlyWhoseObserverLearnsOfADeletion(place: StorePlace, property: String) throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    // Observers are told by the thread that changes the object, which is the test's.
    nonisolated(unsafe) let (piece, context) = (room.piece, room.context)
    withObservationTracking {
      _ = (piece.heading, piece.maker)
    } onChange: {
      _ = try? Shelf.objects(in: context)
    }
    try room.elsewhere { $0.delete(try $0.existingObject(with: piece.objectID)) }
    #expect(!piece.isInaccessible)
    if property == "maker" { piece.maker = nil } else { piece.heading = "Suite" }
    #expect(piece.isInaccessible)
    let lost = LostChange(entity: "Piece", property: property, objectID: piece.objectID)
    #expect(throws: SaveError.changesLost([lost])) { try context.save() }
    try context.save()
  }

  @Test func anotherOnesDeletionTellsWhatLedThere() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let follows = [FollowedReads { room.shelf.contents }, FollowedReads { room.maker.works }]
    let rest = FollowedReads { room.other.heading }
    try room.elsewhere { $0.delete(try $0.existingObject(with: room.piece.objectID)) }
    _ = try Listener.objects(in: room.context)
    #expect(follows.map(\.isTold) == [true, true] && !rest.isTold)
    #expect(room.shelf.contents == [room.other])
  }

  @Test(arguments: StorePlace.allCases)
  func batchesTellAtOnce(place: StorePlace) throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    _ = try Shelf.objects(in: room.context)
    let (piece, maker) = (room.piece, room.maker)
    #expect(
      try tells(piece.heading) {
        try room.context.execute(
          BatchUpdateRequest<Piece>(where: \.heading == "Prelude", set: [.set(\.heading, to: "Suite")]))
      })
    #expect(piece.heading == "Suite")
    #expect(
      try tells(maker.works) {
        try room.context.execute(BatchDeleteRequest<Piece>(where: \.heading == "Suite"))
      })
    #expect(maker.works.isEmpty && piece.isInaccessible)
  }

  @Test func aRowThatWasChangedByPlainSQLIsToldWhenItIsRead() throws {
    let room = try MusicRoom(.file)
    defer { room.store.remove() }
    let reads = FollowedReads { room.piece.heading }
    let rest = FollowedReads { room.other.heading }
    try room.store.execute(
      "UPDATE Work SET heading = 'Suite', _version = _version + 1 WHERE heading = 'Prelude'")
    _ = try Piece.objects(in: room.context)
    #expect(reads.isTold && !rest.isTold && room.piece.heading == "Suite")
  }

  @Test func aHeldStateTellsAtItsEnd() throws {
    let room = try MusicRoom(.file)
    defer { room.store.remove() }
    _ = try Shelf.objects(in: room.context)
    let reads = FollowedReads { room.piece.heading }
    try room.changeElsewhere { $0.heading = "Suite" }
    try room.context.perform {
      _ = try Shelf.objects(in: room.context)
      #expect(!reads.isTold)
    }
    #expect(reads.isTold)
  }

  /// What is read by one observer may be learnt to be old by the last of its reads: it is told of it all the same.
  @Test(arguments: StorePlace.allCases)
  @MainActor func nothingIsMissedThatIsLearntInTheMiddleOfBeingRead(place: StorePlace) async throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    let context = room.store.container.viewContext
    let piece = try #require(try context.existingObject(with: room.piece.objectID) as? Piece)
    _ = piece.heading
    let results = try FetchedResultsController(
      FetchRequest<Piece>(where: \.heading == "Prelude"), in: context)
    #expect(results.fetchedObjects.count == 1)
    context.endReading()
    try room.changeElsewhere { $0.heading = "Suite" }
    var old: [String] = []
    var count = 0
    let shown = FollowedReads {
      old.append(piece.heading)
      _ = try? Shelf.objects(in: context)
    }
    #expect(old == ["Prelude"] && !shown.isTold)
    let listed = FollowedReads { count = results.fetchedObjects.count }
    for _ in 0..<1000 where !shown.isTold { await Task.yield() }
    #expect(shown.isTold && piece.heading == "Suite")
    #expect(count == 0 && listed.isTold)
  }

  /// The same without the main actor: the block around the body is what it waits for.
  @Test(arguments: StorePlace.allCases)
  func whatIsLearntInABlockIsToldAtItsEnd(place: StorePlace) throws {
    let room = try MusicRoom(place)
    defer { room.store.remove() }
    _ = try Shelf.objects(in: room.context)
    try room.changeElsewhere { $0.heading = "Suite" }
    let shown = room.context.perform {
      let reads = FollowedReads {
        #expect(room.piece.heading == "Prelude")
        _ = try? Shelf.objects(in: room.context)
      }
      #expect(!reads.isTold)
      return reads
    }
    #expect(shown.isTold && room.piece.heading == "Suite")
  }

  @Test @MainActor func theViewContextTellsWhatItMergesByItself() async throws {
    let room = try MusicRoom(.file)
    defer { room.store.remove() }
    let container = room.store.container
    container.automaticallyMergesChangesFromParent = true
    let object = try container.viewContext.existingObject(with: room.piece.objectID)
    let piece = try #require(object as? Piece)
    let reads = FollowedReads { piece.heading }
    try room.changeElsewhere { $0.heading = "Suite" }
    for _ in 0..<6000 where !reads.isTold { try await Task.sleep(for: .milliseconds(5)) }
    #expect(reads.isTold && piece.heading == "Suite")
    container.automaticallyMergesChangesFromParent = false
  }

  // MARK: Lists

  @Test func fetchedResultsAreFollowed() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    var request = FetchRequest<Piece>(where: \.heading != "Fugue")
    request.sortKeys = [SortKey("heading")]
    let results = try FetchedResultsController(request, in: room.context)
    let other = try FetchedResultsController(
      FetchRequest<Piece>(where: \.heading == "Fugue"), in: room.context)
    let rest = FollowedReads { other.sections.count }
    _ = Piece(heading: "Air", in: room.context)
    #expect(try tells(results.sections.count) { try room.context.save() })
    #expect(results.fetchedObjects.map(\.heading) == ["Air", "Prelude"])
    #expect(
      try tells(results.index(of: room.piece)) {
        _ = Piece(heading: "Aria", in: room.context)
        try results.update()
      })
    #expect(!rest.isTold)
  }
}

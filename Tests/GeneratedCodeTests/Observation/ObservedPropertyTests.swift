import Foundation
import Observation
import Testing

@testable import CDRuntime

/// Setting a property of an observable class tells who reads it, and the other side of a relationship.
@Suite struct ObservedPropertyTests {
  // MARK: Attributes

  @Test func eachAttributeTellsOfItselfAlone() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let piece = room.piece
    let reads: [(name: String, read: () -> Any?)] = [
      ("heading", { piece.heading }), ("tempo", { piece.tempo }), ("formerTempo", { piece.formerTempo }),
      ("length", { piece.length }), ("tags", { piece.tags }), ("code", { piece.code }),
      ("marked", { piece.marked }),
    ]
    let changes: [() -> Void] = [
      { piece.heading = "Suite" }, { piece.tempo = .lively }, { piece.formerTempo = .calm },
      { piece.length = Length(minutes: 3) }, { piece.tags = ["slow"] }, { piece.code = "846" },
      { piece.marked = true },
    ]
    for (place, change) in changes.enumerated() {
      let follows = reads.map { each in FollowedReads { each.read() } }
      change()
      let told = zip(reads, follows).filter { $1.isTold }.map(\.0.name)
      #expect(told == [reads[place].name])
    }
  }

  @Test func readingAndSettingByKeyCountsToo() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let piece = room.piece
    #expect(try tells(piece.heading) { try piece.setValue("Suite", forKey: "heading") })
    #expect(tells(try? piece.value(forKey: "heading")) { piece.heading = "Mass" })
    #expect(tells(try? piece.value(forKey: "maker")) { piece.maker = nil })
    #expect(!tells(try? piece.value(forKey: "tempo")) { piece.heading = "Prelude" })
    #expect(try tells(room.maker.works) { try piece.setValue(room.maker, forKey: "maker") })
  }

  @Test func observersAreToldBeforeTheValueChanges() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    // Observers are told by the thread that changes the object, which is the test's.
    nonisolated(unsafe) let piece = room.piece
    nonisolated(unsafe) var seen: [String] = []
    withObservationTracking {
      _ = piece.heading
      _ = piece.maker
    } onChange: {
      seen += [piece.heading, piece.maker?.name ?? ""]
    }
    piece.heading = "Suite"
    #expect(seen == ["Prelude", "Bach"])
    nonisolated(unsafe) let maker = room.maker
    withObservationTracking {
      _ = maker.works
    } onChange: {
      seen += maker.works.map(\.heading)
    }
    piece.maker = nil
    #expect(seen == ["Prelude", "Bach", "Suite"] && maker.works.isEmpty)
  }

  @Test func aNewObjectIsFollowed() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let draft = Piece(in: room.context)
    #expect(tells(draft.heading) { draft.heading = "Air" })
    #expect(tells(draft.shelf) { draft.shelf = room.shelf })
  }

  // MARK: Hierarchies

  @Test func inheritedPropertiesAreFollowedThroughEveryClass() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let work: Work = room.piece
    #expect(tells(work.heading) { room.piece.heading = "Suite" })
    #expect(tells(room.piece.heading) { work.heading = "Mass" })
    #expect(tells(work.maker) { room.piece.maker = nil })
    #expect(!tells(work.heading) { room.piece.code = "1" })
    #expect(!tells(room.other.heading) { work.heading = "Suite" })
  }

  // MARK: Relationships

  @Test func bothSidesOfAToOneAreTold() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let (piece, maker) = (room.piece, room.maker)
    let handel = Maker(name: "Handel", in: room.context)
    let follows = [
      FollowedReads { piece.maker }, FollowedReads { maker.works }, FollowedReads { handel.works },
    ]
    let heading = FollowedReads { piece.heading + maker.name + handel.name }
    piece.maker = handel
    #expect(follows.allSatisfy(\.isTold) && !heading.isTold)
    #expect(!tells(piece.maker) { piece.maker = handel }, "it keeps its value")
  }

  @Test func bothSidesOfAToManyAreTold() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let (other, maker) = (room.other, room.maker)
    #expect(tells(other.maker) { maker.addToWorks(other) })
    #expect(tells(maker.works) { maker.removeFromWorks(other) })
    #expect(tells(maker.works) { maker.addToWorks([other]) })
    #expect(tells(other.maker) { maker.works = [room.piece] })
    #expect(tells(maker.works) { maker.works = [] })
    #expect(!tells(maker.name) { maker.works = [other] })
  }

  @Test func bothSidesOfAManyToManyAreTold() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let (other, listener) = (room.other, room.listener)
    #expect(tells(other.listeners) { listener.addToPieces(other) })
    #expect(tells(listener.pieces) { other.removeFromListeners(listener) })
    #expect(tells(listener.pieces) { other.listeners = [listener] })
    #expect(tells(other.listeners) { listener.pieces = [] })
    #expect(!tells(other.listeners) { listener.addToPieces(room.piece) })
  }

  @Test func bothSidesOfAOneToOneAreTold() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let (piece, other) = (room.piece, room.other)
    let lyrics = FollowedReads { piece.lyrics }
    let text = Lyrics(text: "la", piece: piece, in: room.context)
    #expect(lyrics.isTold && piece.lyrics === text)
    let follows = [
      FollowedReads { piece.lyrics }, FollowedReads { other.lyrics }, FollowedReads { text.piece },
    ]
    text.piece = other
    #expect(follows.allSatisfy(\.isTold) && other.lyrics === text)
    #expect(tells(text.piece) { piece.lyrics = text })
    #expect(tells(piece.similar) { piece.similar = other })
  }

  @Test func theOrderOfARelationshipIsTold() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    let third = Piece(heading: "Air", in: room.context)
    #expect(tells(room.shelf.contents) { room.shelf.insertIntoContents(third, at: 0) })
    #expect(tells(room.shelf.contents) { room.shelf.insertIntoContents(third, at: 2) })
    #expect(tells(room.shelf.contents) { room.shelf.contents = [third, room.other, room.piece] })
    #expect(room.shelf.contents == [third, room.other, room.piece])
    #expect(!tells(room.shelf.contents) { room.shelf.contents = [third, room.other, room.piece] })
  }

  @Test func aSnapshotFollowsAllOfItsProperties() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    #expect(tells(room.piece.snapshot) { room.piece.heading = "Suite" })
    #expect(tells(room.piece.snapshot) { room.maker.works = [] })
    #expect(tells(room.piece.snapshot) { room.listener.pieces = [] })
    #expect(tells(room.shelf.snapshot) { room.shelf.contents = [room.other, room.piece] })
    #expect(!tells(room.other.snapshot) { room.piece.heading = "Prelude" })
  }

  // MARK: What is not followed

  @Test func classesAreObservableOnRequestOnly() {
    let types: [ManagedObject.Type] = [Piece.self, Maker.self, ToDo.self, Book.self]
    #expect(types.map { $0 is any Observable.Type } == [true, true, false, false])
  }

  @Test func anObjectThatNobodyHasReadHasNoObservation() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    room.piece.heading = "Suite"
    room.piece.maker = nil
    try room.context.save()
    #expect(room.piece.extras?.observation == nil && !room.piece.flags.contains(.observed))
    _ = room.piece.heading
    #expect(room.piece.extras?.observation != nil)
  }

  @Test func aFetchedPropertyIsNotFollowed() throws {
    let room = try MusicRoom()
    defer { room.store.remove() }
    #expect(!tells(room.piece.siblings) { room.other.maker = room.maker })
    #expect(room.piece.siblings.count == 2)
  }
}

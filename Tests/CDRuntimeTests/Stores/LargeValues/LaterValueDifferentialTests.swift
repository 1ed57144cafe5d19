import CDModel
import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Random programs on objects with large values, on engines whose rows leave the values out. After each step the objects
/// have the same values as on an engine whose rows have all values.
@Suite(.onceForAllKinds) struct LaterValueDifferentialTests {
  static let kinds = StoreKind.allCases.filter(\.leavesLargeValuesOut)

  @Test(arguments: kinds, [false, true]) func everyStepGivesTheSame(_ kind: StoreKind, _ isTyped: Bool) throws
  {
    let runs = kind != .plain ? 8 : isThorough ? 60 : 25
    for seed in 0..<runs {
      let eager = try run(.memory, isTyped: isTyped, seed: UInt64(seed))
      let later = try run(kind, isTyped: isTyped, seed: UInt64(seed))
      if let step = zip(eager, later).enumerated().first(where: { $0.element.0 != $0.element.1 }) {
        let before = eager[..<step.offset].joined(separator: "\n")
        Issue.record(
          "seed \(seed), step \(step.offset):\n\(step.element.0)\n\(step.element.1)\nafter\n\(before)")
        return
      }
      #expect(eager.count == later.count)
    }
  }

  /// - Returns: A line for each step: what it was, and the values that a random part of the objects has then.
  private func run(_ kind: StoreKind, isTyped: Bool, seed: UInt64) throws -> [String] {
    var random = SplitMix(seed: seed)
    let store = try AlbumStore(kind, isTyped: isTyped)
    try store.fill(4, entity: "Portrait")
    let (context, other) = (store.context(), store.context())
    context.undoManager = ContextUndoManager()
    context.mergePolicy = .mergeByPropertyObjectTrump
    other.mergePolicy = .mergeByPropertyStoreTrump
    var known = try context.photos()
    var lines: [String] = []
    var count = 4
    let keys = ["pixels", "preview", "face"]
    func alive() -> [ManagedObject] { known.filter { !$0.isDeleted && !$0.isInaccessible } }
    func value(_ random: inout SplitMix) -> Data {
      Data(
        repeating: UInt8.random(in: 0...255, using: &random),
        count: [0, 10, 5000, 70_000].randomElement(using: &random) ?? 0)
    }
    for _ in 0..<40 {
      let step = Int.random(in: 0..<14, using: &random)
      let photo = alive().randomElement(using: &random)
      let key = keys.randomElement(using: &random) ?? ""
      let data = value(&random)
      var note = "p\(photo?.objectID.key ?? 0) \(key) \(data.count) \(data.first ?? 0)"
      switch step {
      case 0, 1: try photo?.setValue(data, forKey: key)
      case 2: try photo?.setValue("t\(data.count) \(count)", forKey: "title")
      case 3: context.undo()
      case 4: context.redo()
      case 5, 6:
        do { try context.save() } catch { note += " \(error)" }
      case 7: if let photo { context.delete(photo) }
      case 8:
        let new = try context.insert(entityNamed: "Portrait")
        try new.setValue("n\(count)", forKey: "title")
        try new.setValue(data, forKey: "preview")
        count += 1
        known.append(new)
      case 9: if let photo { context.refresh(photo, mergeChanges: Bool.random(using: &random)) }
      case 10: context.rollback()
      case 11:
        let child = ManagedObjectContext(parent: context)
        if let photo, let same = try? child.existingObject(with: photo.objectID) {
          if Bool.random(using: &random) {
            try same.setValue(data, forKey: key)
          } else {
            try same.setValue("c\(count)", forKey: "title")
          }
          note += try " \(same.largeData("pixels")?.count ?? -1)"
          try child.save()
        }
      case 12:
        // Another context changes an object without changes: an object with changes would read the newest value. The
        // other context reads the rows first: setting a value would bring the object up to date on one engine only.
        let all = try other.photos()
        defer { withExtendedLifetime(all) {} }
        if let photo, photo.changedValues.isEmpty, let same = try? other.existingObject(with: photo.objectID)
        {
          if Bool.random(using: &random) {
            try same.setValue(data, forKey: key)
          } else {
            try same.setValue("o\(count)", forKey: "title")
          }
          do { try other.save() } catch {
            note += " \(error)"
            other.rollback()
          }
        }
      default:
        // A fetch creates the objects anew if nothing holds them.
        known = alive().filter { _ in Bool.random(using: &random) }
      }
      context.undoManager?.endEvent()
      known = try (known.filter { $0.isInserted } + context.photos()).reduce(into: []) { list, object in
        if !list.contains(object) { list.append(object) }
      }.sorted { $0.objectID.key < $1.objectID.key }
      var line = "\(step) \(note)"
      for object in alive() where Int.random(in: 0..<3, using: &random) == 0 {
        line += try " p\(object.objectID.key) \(object.photoTitle)"
        for key in keys where Bool.random(using: &random) {
          let data = try object.largeData(key)
          line += " \(key): \(data.map { "\($0.count) \($0.first ?? 0)" } ?? "nil")"
        }
      }
      line += " \(context.hasChanges)"
      lines.append(line)
    }
    do { try context.save() } catch { lines.append("\(error)") }
    for object in try store.context().photos() {
      var line = try object.photoTitle
      for key in keys {
        let data = try object.largeData(key)
        line += " \(key): \(data.map { "\($0.count) \($0.first ?? 0)" } ?? "nil")"
      }
      lines.append(line)
    }
    return lines
  }
}

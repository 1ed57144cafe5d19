/// A slot of an object as it can be put back.
enum SlotMemento: Equatable {
  /// The value of an attribute, or of a reference.
  case value(AttributeValue)
  /// The keys of a to-many relationship's objects, in order, and the positions that the store has of them.
  case list([ObjectKey], positions: [ObjectKey: Int64])
  /// The partner of a one-to-one relationship whose reference stands in the other table.
  case partner(ObjectKey)
}

/// What an object was before a group of changes.
struct UndoEntry {
  let object: ManagedObject
  /// Whether there was the object: it had been inserted, and had not been deleted.
  let existed: Bool
  /// Whether the group inserted it, and so is undone as a whole.
  var isNew = false
  /// Whether it was a draft: an object that may lack values.
  let isDraft: Bool
  /// Slots as they were; all of them where the object was deleted.
  var before: [Int: SlotMemento]
  /// Whether there was the object at the group's end.
  var existedAfter = true
  /// To-many relationships as they were at the group's end: what others add later is told by them.
  var listsAfter: [Int: [ObjectKey]] = [:]

  /// Whether the object is as it was but for its values. One that was deleted all the time has relationships too, for
  /// the undo of its deletion.
  var isToBePutBack: Bool {
    existed ? object.exists : !isNew && !existedAfter && object.flags.contains(.deleted)
  }
}

/// Changes that are undone together.
final class UndoGroup {
  var name = ""
  var entries: [UndoEntry] = []
  private var places: [ObjectIdentifier: Int] = [:]

  func place(of object: ManagedObject) -> Int? { places[ObjectIdentifier(object)] }

  func add(_ entry: UndoEntry) {
    places[ObjectIdentifier(entry.object)] = entries.count
    entries.append(entry)
  }

  /// Notes how lists have come out.
  func close() {
    for place in entries.indices {
      let object = entries[place].object
      entries[place].existedAfter = object.exists
      for case (let slot, .list) in entries[place].before {
        entries[place].listsAfter[slot] = object.extras?.toManyState(slot)?.keys?.keys
      }
    }
  }
}

// Noting what is about to change. Nothing of this is called where there is no undo manager.
extension ManagedObjectContext {
  /// Notes a slot before its first change in a group.
  func noteUndo(_ object: ManagedObject, _ slot: Int) {
    guard let group = undoManager?.group(in: self), slot < object.scope.plan.slots.count else { return }
    if let place = group.place(of: object) {
      // A new object is undone as a whole, and a deleted one has all slots noted.
      guard !group.entries[place].isNew, group.entries[place].before[slot] == nil else { return }
      group.entries[place].before[slot] = memento(object, slot)
    } else {
      let before = memento(object, slot).map { [slot: $0] } ?? [:]
      group.add(
        UndoEntry(
          object: object, existed: object.exists, isDraft: object.flags.contains(.draft), before: before))
    }
  }

  func noteUndoOfInsertion(_ object: ManagedObject) {
    object.flags.insert(.tracked)
    guard let group = undoManager?.group(in: self), group.place(of: object) == nil else { return }
    group.add(
      UndoEntry(
        object: object, existed: false, isNew: true, isDraft: object.flags.contains(.draft), before: [:]))
  }

  /// Notes all of an object that is about to be deleted, and who refers to it that does not know of it.
  func noteUndoOfDeletion(_ object: ManagedObject) {
    guard let group = undoManager?.group(in: self) else { return }
    if let place = group.place(of: object) {
      guard group.entries[place].existed else { return }
      for (slot, memento) in wholeMemento(object) where group.entries[place].before[slot] == nil {
        group.entries[place].before[slot] = memento
      }
    } else {
      group.add(
        UndoEntry(
          object: object, existed: true, isDraft: object.flags.contains(.draft), before: wholeMemento(object))
      )
    }
    for (holder, slot) in oneSidedReferrers(of: object) { noteUndo(holder, slot) }
  }

  func wholeMemento(_ object: ManagedObject) -> [Int: SlotMemento] {
    var result: [Int: SlotMemento] = [:]
    for slot in object.scope.plan.slots { result[slot.number] = memento(object, slot.number) }
    return result
  }

  /// A slot as it is; nil for a derived attribute, which is computed anew.
  func memento(_ object: ManagedObject, _ slot: Int) -> SlotMemento? {
    let plan = object.scope.plan.slots[slot]
    guard let relationship = plan.relationship else {
      if plan.attribute?.derivation != nil { return nil }
      object._willRead()
      return .value(object.storedValue(slot))
    }
    switch relationship.storage {
    case .reference:
      object._willRead()
      return .value(object.storedValue(slot))
    case .inverseReference: return .partner(partner(of: object, relationship)?.key ?? 0)
    case .referencesOfOthers, .join:
      let state = object.toManyState(slot)
      if state.keys == nil { load(object, relationship, state) }
      return .list(state.keys?.keys ?? [], positions: state.positions)
    }
  }

  /// The objects, in memory or not, that refer to an object by a relationship without an inverse.
  private func oneSidedReferrers(of object: ManagedObject) -> [(object: ManagedObject, slot: Int)] {
    var result: [(object: ManagedObject, slot: Int)] = []
    let lineage = object.scope.plan.lineage
    for plan in model.entities where plan.home != nil {
      for case let relationship? in plan.relationships
      where relationship.inverse == nil && relationship.owner == plan.name
        && lineage.contains(relationship.destination)
      {
        var seen: Set<ObjectKey> = []
        func add(_ holder: ManagedObject) {
          guard holder.exists, seen.insert(holder.key).inserted else { return }
          switch memento(holder, relationship.slot) {
          case .value(.int(object.key)): result.append((holder, relationship.slot))
          case .list(let keys, _) where keys.contains(object.key): result.append((holder, relationship.slot))
          default: break
          }
        }
        for holder in pending where holder.isPending && holder.scope.plan.isKind(of: plan) { add(holder) }
        guard !object.flags.contains(.inserted) else { continue }
        for key in (try? keysOfReferrers(to: object, relationship, plan)) ?? [] {
          if let holder = registered(key, root: plan.root) ?? (try? fetchObject(key, plan)) { add(holder) }
        }
      }
    }
    return result
  }

  private func keysOfReferrers(
    to object: ManagedObject, _ relationship: RelationshipPlan, _ plan: EntityPlan
  ) throws -> [ObjectKey] {
    let sql: String
    switch relationship.storage {
    case .join(let place, _):
      sql = "SELECT _source FROM \(SQLite.quoted(model.joins[place].table)) WHERE _target = ?1"
    case .reference(let column):
      sql =
        "SELECT _pk FROM \(SQLite.quoted(plan.table)) WHERE \(SQLite.quoted(plan.columns[column].name)) = ?1"
    case .inverseReference, .referencesOfOthers: return []
    }
    let statement = try reader().statement(sql)
    defer { statement.reset() }
    statement.bind(object.key, at: 1)
    var keys: [ObjectKey] = []
    while try statement.step() { keys.append(statement.int64(0)) }
    return keys
  }
}

extension ManagedObject {
  /// Whether the object is there: it has been inserted, and not been deleted.
  final var exists: Bool { flags.isDisjoint(with: [.deleted, .gone, .inaccessible]) }
}

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The values of an object by slot, whether its class is generated or not.
extension ManagedObject {
  /// The stored value of an attribute or a reference. A reference's value is its key. A composite is one value. A value
  /// that the object's row has left out is read from the store first. A codable value that cannot be encoded is
  /// ``AttributeValue/unencodable``.
  final func storedValue(_ slot: Int) -> AttributeValue {
    storedValue(slot, by: scope.context?.captureWriter ?? RowWriter())
  }

  /// - Parameter writer: Captures the value.
  final func storedValue(_ slot: Int, by writer: RowWriter) -> AttributeValue {
    let plan = scope.plan
    if !plan.isTyped {
      guard let extras, slot < extras.values.count else { return .null }
      if !extras.unread.isEmpty, extras.unread.contains(slot) {
        readLargeValue(slot)
        if extras.unread.contains(slot) { return plan.slots[slot].missingValue }
      }
      return extras.values[slot]
    }
    writer.startCapture()
    _encode(slot, writer)
    if let failure = writer.failure {
      guard failure is RowWriter.UnreadValue else { return .unencodable }
      readLargeValue(slot)
      writer.startCapture()
      _encode(slot, writer)
      if writer.failure is RowWriter.UnreadValue { return plan.slots[slot].missingValue }
    }
    return Self.combined(writer.values, plan.slots[slot])
  }

  /// The key of a reference in the object's own table.
  final func referenceKey(_ slot: Int) -> ObjectKey {
    guard scope.plan.isTyped, let writer = scope.context?.captureWriter else {
      if case .int(let key) = storedValue(slot) { return key }
      return 0
    }
    writer.startKeyCapture()
    _encode(slot, writer)
    return writer.capturedKey
  }

  /// Sets stored values, whatever the object's class. No change is recorded. Other values that have not been read stay
  /// unread.
  ///
  /// - Parameters:
  ///   - unread: Slots whose values are not known, and are read when they are used.
  ///   - storages: The storages of replacements that cannot be encoded: see ``unencodableStorages(among:)``.
  final func setStoredValues(
    _ replacements: [Int: AttributeValue], unread: [Int] = [], unencodable storages: [Int: Any] = [:]
  ) {
    let plan = scope.plan
    if extras?.unreadable.isEmpty == false { for slot in replacements.keys { noteLargeWrite(slot) } }
    guard plan.isTyped else {
      let extras = requireExtras()
      if extras.values.count < plan.slots.count { extras.values = plan.initialValues }
      for (slot, value) in replacements {
        extras.values[slot] = value
        extras.unread.remove(slot)
      }
      for slot in unread {
        extras.values[slot] = .null
        extras.unread.insert(slot)
      }
      return
    }
    let unread = unread + (plan.laterSlots.isEmpty ? [] : unreadSlots.filter { replacements[$0] == nil })
    // By slot, and by column.
    var kept: [Int: Any] = [:]
    var keptColumns: [Int: Any] = [:]
    func newValue(_ slot: Int) -> AttributeValue {
      let replacement = replacements[slot]
      let value = replacement ?? storedValue(slot)
      guard plan.slots[slot].isUnencodable(value) else { return value }
      let storage = replacement == nil ? unencodableStorage(slot) : storages[slot]
      kept[slot] = storage
      if let column = plan.slots[slot].columns.first { keptColumns[column] = storage }
      return .null
    }
    var columns = [AttributeValue](repeating: .null, count: plan.columns.count)
    for slot in plan.storedSlots where unread.isEmpty || !unread.contains(slot) {
      let parts = Self.parts(of: newValue(slot), plan.slots[slot])
      columns.replaceSubrange(plan.slots[slot].columns, with: parts)
    }
    var transients = [AttributeValue](repeating: .null, count: plan.slots.count)
    var composites: [Int: [AttributeValue]] = [:]
    for slot in plan.transientSlots {
      let value = newValue(slot)
      if case .composite = plan.slots[slot].kind, value != .null {
        composites[slot] = Self.parts(of: value, plan.slots[slot])
      } else {
        transients[slot] = value
      }
    }
    let row = ValueRow(
      columns, transients: ValueRow(transients, composites: composites, unencodable: kept),
      unread: unread.map { plan.slots[$0].columns.lowerBound }, unencodable: keptColumns)
    _decode(RowReader(values: row))
  }

  /// The storage of a codable value that cannot be encoded; nil for any other value.
  final func unencodableStorage(_ slot: Int) -> Any? {
    let writer = scope.context?.captureWriter ?? RowWriter()
    writer.startCapture()
    _encode(slot, writer)
    return (writer.failure as? RowWriter.UnencodableValue)?.storage
  }

  /// The storages of the object's values that cannot be encoded, by slot. Another object that gets the values needs them.
  ///
  /// - Parameter values: Stored values of the object, by slot.
  final func unencodableStorages(among values: [Int: AttributeValue]) -> [Int: Any] {
    var storages: [Int: Any] = [:]
    for (slot, value) in values where scope.plan.slots[slot].isUnencodable(value) {
      storages[slot] = unencodableStorage(slot)
    }
    return storages
  }

  /// Combines the values that a writer has captured of a slot into one value.
  static func combined(_ values: [AttributeValue], _ slot: PropertyPlan) -> AttributeValue {
    // Asked first, because copying the fields out of `kind` retains the description of the attribute too.
    if slot.storageType != nil { return values.first ?? .null }
    guard case .composite(_, let fields) = slot.kind else { return values.first ?? .null }
    guard values.count == fields.count, values.contains(where: { $0 != .null }) else { return .null }
    return .composite(
      Dictionary(
        zip(fields.map(\.description.name), values), uniquingKeysWith: { first, _ in first }))
  }

  /// Splits a value into the values of its columns.
  static func parts(of value: AttributeValue, _ slot: PropertyPlan) -> [AttributeValue] {
    guard case .composite(_, let fields) = slot.kind else { return [value] }
    guard case .composite(let values) = value else { return fields.map { _ in .null } }
    return fields.map { values[$0.description.name] ?? .null }
  }

  // MARK: Objects without a generated class

  /// Whether a slot has a non-nil value that every store can hold. Always false for an object with a generated class.
  final func hasPlainValue(_ slot: Int) -> Bool {
    guard !scope.plan.isTyped, let values = extras?.values else { return false }
    return Self.hasPlainValue(slot, in: values)
  }

  /// Whether the slots of all merely mandatory attributes have such values.
  @_optimize(speed)
  final func hasPlainValues() -> Bool {
    let plan = scope.plan
    guard !plan.isTyped, let values = extras?.values else { return false }
    for slot in plan.merelyMandatorySlots where !Self.hasPlainValue(slot, in: values) { return false }
    return true
  }

  @inline(__always)
  private static func hasPlainValue(_ slot: Int, in values: [AttributeValue]) -> Bool {
    guard slot < values.count else { return false }
    switch values[slot] {
    case .null: return false
    // Only for these, because it is a function of another module.
    case .double, .decimal, .date: return !values[slot].isNotANumber
    case .url: return !values[slot].isEmptyURL
    default: return true
    }
  }

  @_optimize(speed)
  final func decodeValues(_ row: RowReader) {
    let plan = scope.plan
    let extras = requireExtras()
    if !plan.laterSlots.isEmpty {
      extras.unread = SlotSet()
      for slot in plan.laterSlots where row.isUnread(plan.slots[slot].columns.lowerBound) {
        extras.unread.insert(slot)
      }
    }
    guard extras.values.isEmpty else {
      for slot in plan.slots where slot.isStored {
        extras.values[slot.number] = Self.storedValue(of: row, slot)
      }
      return
    }
    // A new array is filled in order; no other reference to it requires a copy.
    var values: [AttributeValue] = []
    values.reserveCapacity(plan.readings.count)
    for (slot, reading) in plan.readings.enumerated() {
      values.append(
        Self.storedValue(of: row, reading, plan.slots[slot]) ?? plan.initialValues[slot])
    }
    extras.values = values
  }

  /// The value of a slot in a row, in the form that ``storedValue(_:)`` returns.
  @_optimize(speed)
  static func storedValue(of row: RowReader, _ slot: PropertyPlan) -> AttributeValue {
    storedValue(of: row, slot.reading, slot) ?? .null
  }

  /// - Parameter slot: Evaluated only if the reading is not sufficient.
  /// - Returns: Nil if the row has no column for the slot.
  @_optimize(speed)
  private static func storedValue(
    of row: RowReader, _ reading: PropertyPlan.Reading, _ slot: @autoclosure () -> PropertyPlan
  ) -> AttributeValue? {
    switch reading {
    case .attribute(let storageType, let column): return row.value(column, storageType)
    case .reference(let column):
      let key = row.key(column)
      return key == 0 ? .null : .int(key)
    case .fields:
      let slot = slot()
      guard case .composite(_, let fields) = slot.kind else { return .null }
      return combined(zip(slot.columns, fields).map { row.value($0, $1.storageType) }, slot)
    case .none: return nil
    }
  }

  /// Writes the values of slots, like ``encodeValue(_:_:)`` for each of them.
  @_optimize(speed)
  final func encodeValues(_ slots: [Int], _ writer: RowWriter) {
    let plan = scope.plan
    guard let values = extras?.values, values.count == plan.slots.count, extras?.unread.isEmpty == true else {
      for slot in slots { encodeValue(slot, writer) }
      return
    }
    for slot in slots {
      switch (plan.readings[slot], values[slot]) {
      case (.attribute, let value), (.reference, let value): writer.value(value)
      case (.fields, _), (.none, _): encodeValue(slot, writer)
      }
    }
  }

  final func encodeValue(_ slot: Int, _ writer: RowWriter) {
    guard slot < scope.plan.slots.count else { return }
    guard let extras, slot < extras.values.count else {
      for _ in scope.plan.slots[slot].columns { writer.value(.null) }
      return
    }
    // It has not been changed, so nothing may write it.
    if extras.unread.contains(slot) { return writer.fail(RowWriter.UnreadValue()) }
    switch extras.values[slot] {
    case .composite:
      for part in Self.parts(of: extras.values[slot], scope.plan.slots[slot]) { writer.value(part) }
    case .null:
      // One null for each field of a composite.
      for _ in scope.plan.slots[slot].columns { writer.value(.null) }
    default: writer.value(extras.values[slot])
    }
  }
}

// Comparing an object's values with its snapshot and with the store.
extension ManagedObject {
  /// The stored values that the object had when it was read or last saved, by slot. Values that have not been read, or could
  /// not be, are missing.
  final func snapshotValues() -> [Int: AttributeValue] {
    var values = currentValues()
    for old in extras?.old ?? [] where values[old.slot] != nil { values[old.slot] = old.value }
    return values
  }

  /// The value of a slot before its first change since the object was read or last saved; nil for a new object.
  final func formerValue(_ slot: Int) -> AttributeValue? {
    if flags.contains(.inserted) { return nil }
    return extras?.oldValue(slot) ?? storedValue(slot)
  }

  /// The stored values, by slot. Values that have not been read, or could not be, are missing.
  ///
  /// - Parameter others: The values with which the result is compared: those that it has are read.
  final func currentValues(toCompareWith others: [Int: AttributeValue] = [:]) -> [Int: AttributeValue] {
    var values: [Int: AttributeValue] = [:]
    for slot in scope.plan.storedSlots
    where others[slot] != nil || !isUnread(slot) && !isUnreadable(slot) {
      values[slot] = comparableValue(slot)
    }
    return values
  }

  /// A stored value in the form that comparisons use: a reference to an object that was deleted before it was ever
  /// saved is nil.
  final func comparableValue(_ slot: Int) -> AttributeValue {
    let value = storedValue(slot)
    guard case .int(let key) = value, let relationship = scope.plan.relationships[slot],
      scope.context?.refersToDiscarded(key, relationship) == true
    else { return value }
    return .null
  }

  /// Whether a slot has another value than before its first change. A value that was set in the place of one that could not
  /// be read is always another one.
  final func isChanged(_ slot: Int, from former: AttributeValue) -> Bool {
    comparableValue(slot) != former || givesLackingValue(slot) || extras?.unreadable.contains(slot) == true
      || hasOtherStorage(slot, than: former, scope.context?.pendingChanges.formerStorages(of: self)[slot])
  }

  /// Whether a slot has another value than a given one that is equal to it: all codable values that cannot be encoded are
  /// ``AttributeValue/unencodable``.
  ///
  /// - Parameter storage: The storage of the other value, which is used if it cannot be encoded.
  final func hasOtherStorage(
    _ slot: Int, than value: AttributeValue, _ storage: @autoclosure () -> Any?
  ) -> Bool {
    guard case .data = value, scope.plan.isTyped, scope.plan.slots[slot].isUnencodable(value) else {
      return false
    }
    guard let own = unencodableStorage(slot) as? any ComparableStorage, let other = storage() else {
      return true
    }
    return !own.isCopy(of: other)
  }

  /// Creates a conflict with the properties whose three versions differ. A value that the object has not read does not
  /// differ: nothing depends on it.
  ///
  /// - Parameters:
  ///   - object: The object's values; nil for its current values.
  ///   - store: The row's values; nil if the row is gone.
  ///   - namesUnread: Whether to name the values that the object has not read, if no other value differs.
  final func conflict(
    _ reason: SaveConflict.Reason, object: [Int: AttributeValue]? = nil, snapshot: [Int: AttributeValue],
    store: [Int: AttributeValue]?, namesUnread: Bool = false
  ) -> SaveConflict {
    let plan = scope.plan
    let object = object ?? currentValues()
    var keys: [String] = []
    var values: [SaveConflict.Value] = []
    var unread: [String] = []
    for number in plan.storedSlots {
      let slot = plan.slots[number]
      if slot.isReadLater, object[number] == nil {
        unread.append(slot.name)
        continue
      }
      let (mine, old) = (object[number] ?? .null, snapshot[number] ?? .null)
      let theirs = store.map { $0[number] ?? .null }
      if let theirs, theirs != old { keys.append(slot.name) }
      guard mine != old || theirs.map({ $0 != old }) ?? false, !slot.isDerived else {
        continue
      }
      values.append(
        SaveConflict.Value(
          key: slot.name, object: fetchedValue(mine, slot), snapshot: fetchedValue(old, slot),
          store: theirs.map { fetchedValue($0, slot) }))
    }
    if namesUnread, keys.isEmpty { keys = unread }
    return SaveConflict(reason: reason, objectID: objectID, keys: keys, values: values)
  }

  /// A stored value in its public form: a reference is an identifier.
  final func fetchedValue(_ value: AttributeValue, _ slot: PropertyPlan) -> FetchedValue {
    guard let relationship = slot.relationship else { return .attribute(value) }
    guard case .int(let key) = value, key != 0, let context = scope.context else { return .object(nil) }
    let root = context.model.entities[relationship.destination].root
    // Only the row knows the subentity of an unregistered object. An identifier with the relationship's destination
    // entity finds the object too.
    let known = context.registered(key, root: root)?.objectID
    return .object(known ?? context.registry.objectID(key, ofEntity: relationship.destination))
  }
}

/// The storage of a codable attribute whose type only the generated class knows.
protocol ComparableStorage {
  /// Whether the storage has the same value as another one because one of them is a copy of the other.
  func isCopy(of other: Any) -> Bool
}

// Evaluating predicates and expressions with an object: with all its unsaved changes.
extension ManagedObject: EvaluationSubject {
  /// Returns the value of a property for predicates, with all unsaved changes.
  ///
  /// - Throws: ``EvaluationError/unknownKey(_:entity:)``; `cancelled` and `matchingTooCostly` if the fetch of a fetched
  ///   property ends so; `unsupported` for a fetched property whose fetch fails for another reason, for a large value that
  ///   cannot be read, for an inaccessible object whose row cannot be looked up, and for one with changes that has a row.
  public final func evaluationValue(forKey key: String) throws(EvaluationError) -> EvaluationValue {
    if let slot = scope.plan.slot(key) { return try evaluationValue(of: slot) }
    guard let context = scope.context, let property = context.fetchedProperty(key, of: scope.plan) else {
      throw .unknownKey(key, entity: scope.plan.name)
    }
    do {
      return .collection(try context.fetch(property, for: self).map { .subject($0) })
    } catch is CancellationError {
      throw .cancelled
    } catch FetchError.patternTooCostly(let pattern) {
      throw .matchingTooCostly(pattern: pattern)
    } catch FetchError.unsupported(let construct) where construct.hasPrefix("fetched property '") {
      // The condition reads another fetched property. Its error is reported as it is: properties that read each other
      // would repeat the text at each level.
      throw .unsupported(construct)
    } catch {
      throw .unsupported("fetched property '\(scope.plan.name).\(key)', whose fetch fails: \(error)")
    }
  }

  /// The reference that compares equal to a constant for this object.
  public final var evaluationIdentity: ObjectReference? { reference }

  /// Whether another object has the same row, in this context or in another one.
  public final func isSameObject(as other: any EvaluationSubject) -> Bool {
    guard let other = other as? ManagedObject else { return reference.isSame(as: other.evaluationIdentity) }
    return self === other
      || key == other.key && scope.plan.root == other.scope.plan.root && scope.storeID == other.scope.storeID
  }

  /// Whether a constant refers to the object: an identifier with the object's store and row. The identifier may name
  /// any entity of the inheritance hierarchy, because the hierarchy shares one table.
  public final func isSameObject(as reference: ObjectReference) -> Bool {
    guard let id = ManagedObjectID(reference), id.key == key, id.storeID == scope.storeID else {
      return false
    }
    return id.entityName == scope.plan.name
      || scope.context?.model.entity(id.entityName)?.root == scope.plan.root
  }

  private final func evaluationValue(of slot: PropertyPlan) throws(EvaluationError) -> EvaluationValue {
    if flags.contains(.inaccessible) { try lookUpAgain(self, for: slot) }
    if flags.contains(.fault), slot.relationship == nil {
      _willRead()
      // Another context has deleted the row, and the reference that has led here is not up to date.
      if isInaccessible { return .null }
    }
    switch slot.kind {
    case .attribute(_, let storageType):
      if slot.isReadLater {
        do { try readLargeValueForCaller(slot.number) } catch { throw unreadable(slot, "\(error)") }
        // The object has an empty value instead. A deletion or a calculation because of that value would lose data.
        if isUnreadable(slot.number) { throw unreadable(slot, "its file cannot be read") }
      }
      let value = storedValue(slot.number)
      if case .float = storageType, case .double(let number) = value { return .float(Float(number)) }
      return .value(value)
    case .composite(_, let fields):
      guard case .composite(let values) = storedValue(slot.number) else { return .null }
      var result: [String: EvaluationValue] = [:]
      for field in fields {
        let value = values[field.description.name] ?? .null
        if case .float = field.storageType, case .double(let number) = value {
          result[field.description.name] = .float(Float(number))
        } else {
          result[field.description.name] = .value(value)
        }
      }
      return .dictionary(result)
    case .relationship(let relationship):
      if relationship.isToMany {
        if let context = scope.context, context.activity.isDeriving, !flags.contains(.inaccessible) {
          // A derived attribute is saved, so it must count what other contexts have added.
          return .collection(context.objectsWithOthers(of: self, relationship).map { .subject($0) })
        }
        return .collection(relatedObjects(relationship).map { .subject($0) })
      }
      guard let related = relatedObject(relationship) else { return .null }
      if related.isInaccessible {
        try lookUpAgain(related, for: slot)
        if related.isInaccessible { return .null }
      }
      return .subject(related)
    }
  }

  /// Looks up the row of an inaccessible object. Perhaps an earlier read has failed although the row is there: a store
  /// that evaluates the same condition reads the row.
  ///
  /// An object with changes is not read again, so it has no values to evaluate.
  ///
  /// - Parameter slot: The property of this object that is evaluated.
  @inline(never)
  private final func lookUpAgain(_ object: ManagedObject, for slot: PropertyPlan) throws(EvaluationError) {
    guard let context = scope.context else { return }
    let hasFailedRead: Bool
    do {
      try context.fireForCaller(object)
      hasFailedRead = try context.hasFailedRead(object)
    } catch { throw unreadable(slot, "\(error)") }
    if hasFailedRead { throw unreadable(slot, "an earlier read of \(object) has failed; refresh the object") }
  }

  private final func unreadable(_ slot: PropertyPlan, _ reason: String) -> EvaluationError {
    .unsupported("'\(scope.plan.name).\(slot.name)', which cannot be read: \(reason)")
  }
}

extension ManagedObject {
  /// The object as a constant in an expression.
  final var reference: ObjectReference { objectID.reference }
}

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The values of an object by slot, whether its class is generated or not.
extension ManagedObject {
  /// The value of an attribute or a reference as it is kept: the latter's is its key. A composite is one value.
  final func storedValue(_ slot: Int) -> AttributeValue {
    let plan = scope.plan
    if !plan.isTyped {
      guard let values = extras?.values, slot < values.count else { return .null }
      return values[slot]
    }
    let writer = scope.context?.captureWriter ?? RowWriter()
    writer.startCapture()
    _encode(slot, writer)
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

  /// Sets values as they are kept, whatever the object's class. Nothing is noted.
  final func setStoredValues(_ replacements: [Int: AttributeValue]) {
    let plan = scope.plan
    guard plan.isTyped else {
      let extras = requireExtras()
      if extras.values.count < plan.slots.count { extras.values = plan.initialValues }
      for (slot, value) in replacements { extras.values[slot] = value }
      return
    }
    var columns = [AttributeValue](repeating: .null, count: plan.columns.count)
    for slot in plan.storedSlots {
      let parts = Self.parts(of: replacements[slot] ?? storedValue(slot), plan.slots[slot])
      columns.replaceSubrange(plan.slots[slot].columns, with: parts)
    }
    var transients = [AttributeValue](repeating: .null, count: plan.slots.count)
    var composites: [Int: [AttributeValue]] = [:]
    for slot in plan.transientSlots {
      let value = replacements[slot] ?? storedValue(slot)
      if case .composite = plan.slots[slot].kind, value != .null {
        composites[slot] = Self.parts(of: value, plan.slots[slot])
      } else {
        transients[slot] = value
      }
    }
    let row = ValueRow(columns, transients: ValueRow(transients, composites: composites))
    _decode(RowReader(values: row))
  }

  /// One value of what a writer has captured of a slot.
  static func combined(_ values: [AttributeValue], _ slot: PropertyPlan) -> AttributeValue {
    guard case .composite(_, let fields) = slot.kind else { return values.first ?? .null }
    guard values.count == fields.count, values.contains(where: { $0 != .null }) else { return .null }
    return .composite(
      Dictionary(
        zip(fields.map(\.description.name), values), uniquingKeysWith: { first, _ in first }))
  }

  /// A value as its columns keep it.
  static func parts(of value: AttributeValue, _ slot: PropertyPlan) -> [AttributeValue] {
    guard case .composite(_, let fields) = slot.kind else { return [value] }
    guard case .composite(let values) = value else { return fields.map { _ in .null } }
    return fields.map { values[$0.description.name] ?? .null }
  }

  // MARK: Objects without a generated class

  /// Whether a slot has a value, and one that every store takes. False says nothing of an object with a generated
  /// class.
  final func hasPlainValue(_ slot: Int) -> Bool {
    guard !scope.plan.isTyped, let extras, slot < extras.values.count else { return false }
    return switch extras.values[slot] {
    case .null: false
    case .double(let number): !number.isNaN
    case .decimal(let number): !number.isNaN
    case .date(let date): date.timeIntervalSinceReferenceDate.isFinite
    case .bool, .int, .string, .data, .uuid, .url, .composite: true
    }
  }

  final func decodeValues(_ row: RowReader) {
    let plan = scope.plan
    let extras = requireExtras()
    guard extras.values.isEmpty else {
      for slot in plan.slots where slot.isStored {
        extras.values[slot.number] = Self.storedValue(of: row, slot)
      }
      return
    }
    // Written once, each in its place, in an array that nobody else has to be kept from meanwhile.
    var values: [AttributeValue] = []
    values.reserveCapacity(plan.readings.count)
    for (slot, reading) in plan.readings.enumerated() {
      values.append(
        Self.storedValue(of: row, reading, plan.slots[slot]) ?? plan.initialValues[slot])
    }
    extras.values = values
  }

  /// The value of a slot in a row, as ``storedValue(_:)`` gives it.
  static func storedValue(of row: RowReader, _ slot: PropertyPlan) -> AttributeValue {
    storedValue(of: row, slot.reading, slot) ?? .null
  }

  /// - Parameter slot: Asked for only where the reading does not say all.
  /// - Returns: Nil where the row has no column for the slot.
  private static func storedValue(
    of row: RowReader, _ reading: PropertyPlan.Reading, _ slot: @autoclosure () -> PropertyPlan
  ) -> AttributeValue? {
    switch reading {
    case .cell(let cell, let column): return row.value(column, cell)
    case .reference(let column):
      let key = row.key(column)
      return key == 0 ? .null : .int(key)
    case .fields:
      let slot = slot()
      guard case .composite(_, let fields) = slot.kind else { return .null }
      return combined(zip(slot.columns, fields).map { row.value($0, $1.cell) }, slot)
    case .none: return nil
    }
  }

  /// Writes the values of slots as ``encodeValue(_:_:)`` does one.
  final func encodeValues(_ slots: [Int], _ writer: RowWriter) {
    let plan = scope.plan
    guard let values = extras?.values, values.count == plan.slots.count else {
      for slot in slots { encodeValue(slot, writer) }
      return
    }
    for slot in slots {
      switch (plan.readings[slot], values[slot]) {
      case (.cell, let value), (.reference, let value): writer.value(value)
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
    switch extras.values[slot] {
    case .composite:
      for part in Self.parts(of: extras.values[slot], scope.plan.slots[slot]) { writer.value(part) }
    case .null:
      // One for each field of a composite.
      for _ in scope.plan.slots[slot].columns { writer.value(.null) }
    default: writer.value(extras.values[slot])
    }
  }
}

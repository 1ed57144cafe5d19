/// The findings of reading a store.
struct ReadingReport {
  var losses = CoreDataLosses()
  /// The number of objects of each entity.
  var counts: [String: Int] = [:]
  /// The number of objects that got the default of a mandatory attribute because they had no value, by
  /// `'attribute' of 'Entity'`.
  var defaults: [String: Int] = [:]
  /// The number of objects in which a mandatory derived attribute had no value, by attribute.
  var notDerived: [String: Int] = [:]
  /// The number of objects in which an attribute was NaN, which no store accepts, by attribute.
  var notANumber: [String: Int] = [:]
  /// The number of objects for which only one side of a one-to-one relationship was set, by relationship.
  var repaired: [String: Int] = [:]
  /// The objects of one-to-one relationships to which a reference was accepted although they do not refer back, by
  /// relationship. The tables of an entity and of its subentities share them.
  var taken: [String: Set<Int64>] = [:]
  /// Remarks about parts of the store that are not copied and that are not values of objects.
  var remarks: [String] = []

  mutating func lose(
    _ entity: String, _ key: Int64?, _ property: String, _ reason: String, isAcceptable: Bool = true
  ) {
    losses.add(
      CoreDataLosses.Loss(
        entity: entity, key: key, property: property, reason: reason, isAcceptable: isAcceptable))
  }

  /// All remarks about findings that are not losses, one sentence each.
  var allRemarks: [String] {
    func lines(_ counts: [String: Int], _ text: (_ name: String, _ objects: String) -> String) -> [String] {
      counts.sorted { $0.key < $1.key }.map { text($0.key, Self.objects($0.value)) }
    }
    var result = remarks
    result += lines(defaults) { name, objects in
      "\(name) is mandatory, but had no value in \(objects); it got its default"
    }
    result += lines(notDerived) { name, objects in
      "\(name) is mandatory and derived, but had no value in \(objects); it gets one when the object is "
        + "changed and saved"
    }
    result += lines(notANumber) { name, objects in "\(name) was NaN in \(objects); it was set to nil" }
    result += lines(repaired) { name, objects in
      "\(name) was set on one side only in \(objects); it was set on both"
    }
    return result
  }

  static func objects(_ count: some BinaryInteger) -> String {
    "\(count) \(count == 1 ? "object" : "objects")"
  }
}

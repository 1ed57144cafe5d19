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
    remarks
      + defaults.sorted { $0.key < $1.key }.map { name, count in
        "\(name) is mandatory, but had no value in \(Self.objects(count)); it got its default"
      }
      + notDerived.sorted { $0.key < $1.key }.map { name, count in
        "\(name) is mandatory and derived, but had no value in \(Self.objects(count)); it gets one when the object is "
          + "changed and saved"
      }
      + notANumber.sorted { $0.key < $1.key }.map { name, count in
        "\(name) was NaN in \(Self.objects(count)); it was set to nil"
      }
      + repaired.sorted { $0.key < $1.key }.map { name, count in
        "\(name) was set on one side only in \(Self.objects(count)); it was set on both"
      }
  }

  static func objects(_ count: some BinaryInteger) -> String {
    "\(count) \(count == 1 ? "object" : "objects")"
  }
}

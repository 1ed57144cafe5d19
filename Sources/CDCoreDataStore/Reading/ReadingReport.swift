/// What is noticed while a store is read.
struct ReadingReport {
  var losses = CoreDataLosses()
  /// The counts of objects by entity.
  var counts: [String: Int] = [:]
  /// Mandatory attributes that had no value, by `'attribute' of 'Entity'`, and how often they got their default.
  var defaults: [String: Int] = [:]
  /// Attributes whose value was NaN, which is none in any store, and how often.
  var notANumber: [String: Int] = [:]
  /// One-to-one relationships of which one side alone was set, and how often.
  var repaired: [String: Int] = [:]
  /// What is not taken over and is no value of an object.
  var remarks: [String] = []

  mutating func lose(
    _ entity: String, _ key: Int64?, _ property: String, _ reason: String, isAcceptable: Bool = true
  ) {
    losses.add(
      CoreDataLosses.Loss(
        entity: entity, key: key, property: property, reason: reason, isAcceptable: isAcceptable))
  }

  /// All that is worth to be known and is no loss, a sentence each.
  var allRemarks: [String] {
    remarks
      + defaults.sorted { $0.key < $1.key }.map { name, count in
        "\(name) is mandatory and had no value in \(Self.objects(count)); it has its default there"
      }
      + notANumber.sorted { $0.key < $1.key }.map { name, count in
        "\(name) was NaN, which is no number, in \(Self.objects(count)); it is nil there"
      }
      + repaired.sorted { $0.key < $1.key }.map { name, count in
        "\(name) was set on one side alone in \(Self.objects(count)); it is on both"
      }
  }

  static func objects(_ count: some BinaryInteger) -> String {
    "\(count) \(count == 1 ? "object" : "objects")"
  }
}

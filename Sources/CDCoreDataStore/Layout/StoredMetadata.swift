import CDPropertyList

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The metadata of a Core Data store, from `Z_METADATA`.
struct StoredMetadata {
  var storeID: UUID
  /// The version of Core Data that wrote the store last.
  var frameworkVersion: Int64?
  /// The identifiers of the model's version, from Xcode, without empty ones.
  var identifiers: [String]
  /// The names of the entities that have a hash.
  var hashedEntities: Set<String>
  /// The app's own values, if they are text or can be converted to text.
  var values: [String: String] = [:]
  /// The keys of the app's other values.
  var otherKeys: [String] = []

  private static let largest = 64 << 20

  init(_ database: SourceDatabase, _ schema: inout SourceSchema) throws(CoreDataStoreError) {
    let url = database.url
    try schema.require(["Z_UUID", "Z_PLIST"], in: "Z_METADATA")
    let rows = try database.rows("SELECT Z_UUID, length(Z_PLIST) FROM Z_METADATA LIMIT 2") {
      ($0.text(0), $0.integer(1))
    }
    guard rows.count == 1, let row = rows.first else {
      throw .damaged(url, reason: "Z_METADATA has \(rows.isEmpty ? "no row" : "more than one row")")
    }
    guard let id = row.0.flatMap(UUID.init(uuidString:)) else {
      throw .damaged(url, reason: "Z_METADATA has no UUID")
    }
    guard let size = row.1, size <= Self.largest else {
      throw .damaged(
        url, reason: "Z_METADATA has no property list, or one of more than \(Self.largest) bytes")
    }
    let plist = try database.rows("SELECT Z_PLIST FROM Z_METADATA") { $0.value(0) }.first
    guard case .bytes(let data)? = plist, case .dictionary(let root)? = BinaryPropertyList.read([UInt8](data))
    else { throw .damaged(url, reason: "the property list of Z_METADATA cannot be read") }
    storeID = id
    if case .int(let number)? = root["NSPersistenceFrameworkVersion"] { frameworkVersion = number }
    var identifiers: [String] = []
    if case .list(let list)? = root["NSStoreModelVersionIdentifiers"] {
      for case .string(let name) in list where !name.isEmpty { identifiers.append(name) }
    }
    self.identifiers = identifiers
    var hashed: Set<String> = []
    if case .dictionary(let hashes)? = root["NSStoreModelVersionHashes"] { hashed = Set(hashes.keys) }
    hashedEntities = hashed
    for (key, value) in root where !key.hasPrefix("NS") && !key.hasPrefix("_NS") {
      if let text = Self.text(value) { values[key] = text } else { otherKeys.append(key) }
    }
    otherKeys.sort()
  }

  private static func text(_ value: PropertyListValue) -> String? {
    switch value {
    case .string(let text): text
    case .int(let number): String(number)
    case .bool(let flag): flag ? "true" : "false"
    case .real(let number): number.description
    case .date(let seconds):
      seconds.isFinite && abs(seconds) < 1e11
        ? Date(timeIntervalSinceReferenceDate: seconds).formatted(.iso8601) : nil
    case .null, .data, .list, .dictionary, .reference, .other: nil
    }
  }
}

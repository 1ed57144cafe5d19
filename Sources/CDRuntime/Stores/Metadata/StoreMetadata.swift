#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The metadata of a store: entries of texts by key, which each engine keeps in its own way.
package struct StoreMetadata {
  /// The version of the format that this release writes.
  package static let currentFormatVersion = 1

  package var formatVersion: Int
  package var storeID: UUID
  package var modelID: UUID
  package var modelName: String
  package var versionNumber: Int
  /// The canonical JSON of the version that the store was written with.
  package var version: String
  package var dataHash: String
  package var layoutHash: String
  package var definitionHash: String
  /// A JSON object with the data hash of each entity by name.
  package var entityHashes: String
  package var createdBy: String
  /// The version of each model in a store of several merged models, by the models' identities. Empty for any other
  /// store, and if the release that wrote the store did not record the versions.
  package var partVersions: [UUID: Int] = [:]
  /// The version whose step was the last one that changed rows, for each model by its identity. No program without this
  /// version may take the rows for those of another one with the same hash. Empty if there is no such version.
  package var rowsVersions: [UUID: Int] = [:]
  /// The names of the backups of the last migrations, which the next opening removes.
  package var pendingBackups: [String] = []
  /// The app's own values, without the prefix of their keys in the entries.
  package var values: [String: String] = [:]

  /// Returns whether users may have stores like this one: the version is a locked version of the model or of one of its
  /// parts.
  func isLocked(_ number: Int, in model: ManagedObjectModel) -> Bool {
    model.lockedVersionNumbers.contains(number)
      || model.parts.contains { part in
        // The release that wrote the store may not have recorded the versions of the parts.
        partVersions[part.id].map(part.lockedVersionNumbers.contains) ?? !part.lockedVersionNumbers.isEmpty
      }
  }

  /// Returns the model, or the part of a merged model, that is too old for the rows; nil if there is none.
  func outdated(_ model: ManagedObjectModel) -> ManagedObjectModel? {
    if rowsVersions.isEmpty { return nil }
    return model.partsOrSelf.first { part in
      // A model may have lost its first versions, but not the later ones.
      guard let number = rowsVersions[part.id] else { return false }
      return part.versions.allSatisfy { $0.number < number }
    }
  }

  /// The identity of the store's model.
  package var model: ModelIdentity { ModelIdentity(name: modelName, id: modelID) }

  /// The prefix of the keys of the app's own values.
  package static let valuePrefix = "app."

  /// The value of the entry `pendingBackup` for some names. A name contains no slash.
  static func text(ofBackups names: [String]) -> String { names.joined(separator: "/") }

  /// The metadata of a new store.
  @_optimize(none)
  package init(_ model: ModelPlan, storeID: UUID, store: Int) {
    formatVersion = Self.currentFormatVersion
    let source = model.source(ofStore: store)
    self.storeID = storeID
    modelID = source.model.id
    modelName = source.model.name
    versionNumber = source.version.number
    version = source.version.canonicalJSON
    dataHash = model.dataHash(ofStore: store).description
    layoutHash = source.hashes.layout.description
    definitionHash = source.hashes.definition.description
    entityHashes =
      JSONValue.object(
        source.hashes.entities.orderedByKey()
          .map { JSONValue.Member($0.key, .string($0.value.data.description)) }
      ).canonicalText
    createdBy = "cdgen"
    for part in source.model.parts { partVersions[part.id] = part.currentVersionNumber }
  }

  /// The metadata of a store that is being created, whose rows are all of the current version.
  @_optimize(none)
  package static func ofNewStore(_ model: ModelPlan, storeID: UUID, store: Int) -> StoreMetadata {
    var metadata = StoreMetadata(model, storeID: storeID, store: store)
    let source = model.source(ofStore: store).model
    for part in source.partsOrSelf { metadata.rowsVersions[part.id] = part.versionOfRows }
    return metadata
  }

  /// Reads the metadata of a store from its entries.
  ///
  /// - Parameter url: The URL that errors show.
  /// - Throws: ``StoreError/newerFormat(_:found:supported:)``, or ``StoreError/damagedMetadata(_:key:)`` for an entry
  ///   that is missing or has a value that no release writes.
  package init(entries values: [String: String], url: URL) throws {
    func text(_ key: String) throws -> String {
      guard let value = values[key] else { throw StoreError.damagedMetadata(url, key: key) }
      return value
    }
    func number(_ key: String) throws -> Int {
      guard let value = Int(try text(key)) else { throw StoreError.damagedMetadata(url, key: key) }
      return value
    }
    func uuid(_ key: String) throws -> UUID {
      guard let value = UUID(uuidString: try text(key)) else {
        throw StoreError.damagedMetadata(url, key: key)
      }
      return value
    }
    formatVersion = try number("formatVersion")
    // This release must not judge the other entries of a later format.
    guard formatVersion <= Self.currentFormatVersion else {
      throw StoreError.newerFormat(url, found: formatVersion, supported: Self.currentFormatVersion)
    }
    storeID = try uuid("storeUUID")
    modelID = try uuid("modelID")
    modelName = try text("modelName")
    versionNumber = try number("versionNumber")
    guard formatVersion > 0 else { throw StoreError.damagedMetadata(url, key: "formatVersion") }
    guard versionNumber > 0 else { throw StoreError.damagedMetadata(url, key: "versionNumber") }
    version = try text("version")
    dataHash = try text("dataHash")
    layoutHash = try text("layoutHash")
    definitionHash = try text("definitionHash")
    entityHashes = try text("entityHashes")
    createdBy = try text("createdBy")
    partVersions = values["parts"].map(Self.versions) ?? [:]
    rowsVersions = values[Self.rowsVersionsKey].map(Self.versions) ?? [:]
    pendingBackups = values["pendingBackup"]?.split(separator: "/").map(String.init) ?? []
    // Compares bytes, not characters. If the key begins with a combining accent, Swift joins the accent with the last
    // character of the prefix.
    let prefix = Self.valuePrefix.utf8
    for (key, value) in values where key.utf8.starts(with: prefix) {
      self.values[String(decoding: key.utf8.dropFirst(prefix.count), as: UTF8.self)] = value
    }
  }

  /// Parses a JSON object of version numbers by the models' identities.
  @_optimize(none)
  private static func versions(_ text: String) -> [UUID: Int] {
    // Unreadable JSON is treated like missing JSON: the versions are then found by their hashes.
    guard let json = try? JSONValue(parsing: text), case .object(let members) = json else { return [:] }
    return members.reduce(into: [:]) { result, member in
      if let id = UUID(uuidString: member.key) { result[id] = Int(member.value.canonicalText) }
    }
  }

  /// The entries, without the app's own values.
  package var entries: [String: String] {
    var result = modelEntries
    if !partVersions.isEmpty { result["parts"] = Self.text(ofVersions: partVersions) }
    if !rowsVersions.isEmpty { result[Self.rowsVersionsKey] = Self.text(ofVersions: rowsVersions) }
    return result
  }

  private static let rowsVersionsKey = "rowsVersions"

  @_optimize(none)
  private static func text(ofVersions versions: [UUID: Int]) -> String {
    JSONValue.object(
      versions.map { JSONValue.Member($0.key.uuidString, .int(Int64($0.value))) }.ordered { $0.key < $1.key }
    ).canonicalText
  }

  @_optimize(none)
  private var modelEntries: [String: String] {
    [
      "formatVersion": "\(formatVersion)", "storeUUID": storeID.uuidString,
      "modelID": modelID.uuidString, "modelName": modelName, "versionNumber": "\(versionNumber)",
      "version": version, "dataHash": dataHash, "layoutHash": layoutHash,
      "definitionHash": definitionHash, "entityHashes": entityHashes, "createdBy": createdBy,
    ]
  }

  /// All entries, with the app's own values.
  @_optimize(none)
  package var allEntries: [String: String] {
    var result = entries
    for (key, value) in values { result[Self.valuePrefix + key] = value }
    return result
  }
}

extension ManagedObjectModel {
  /// The models that a merged model was made of; the model itself if it is not merged.
  fileprivate var partsOrSelf: [ManagedObjectModel] { parts.isEmpty ? [self] : parts }

  /// The number of the last version whose step changes rows and keeps the hash of the data, which then does not tell that
  /// programs without this version misread the rows. Nil if the hash tells it.
  @_optimize(none)
  fileprivate var versionOfRows: Int? {
    guard mayChangeRowsOfSameData, let hash = currentVersion?.hashes.data else { return nil }
    let paths = VersionPaths(self)
    var pending = [currentVersionNumber]
    var seen = Set(pending)
    var found: Int?
    while let number = pending.popLast() {
      for base in version(number)?.basedOn ?? [] where version(base)?.hashes.data == hash {
        if paths.step(from: base, to: number)?.changesNoData == false {
          found = max(found ?? number, number)
        } else if seen.insert(base).inserted {
          pending.append(base)
        }
      }
    }
    return found
  }
}

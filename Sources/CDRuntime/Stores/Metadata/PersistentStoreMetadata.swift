public import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The metadata of a store: its identity, and the model that it was written with.
///
/// You can open a store with the model that it contains, without generated classes:
///
/// ```swift
/// let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: url)
/// print(metadata.modelName, metadata.modelVersion.number)
/// let container = try PersistentContainer(model: metadata.managedObjectModel, at: url)
/// ```
public struct PersistentStoreMetadata: Hashable, Sendable {
  /// The UUID of the store. It is part of the identifiers of the store's objects.
  public let storeID: UUID
  /// The version of the store's layout.
  public let formatVersion: Int
  /// The identity of the model.
  public let modelID: UUID
  /// The name of the model.
  public let modelName: String
  /// The number of the version, from its own entry in the store.
  let versionNumber: Int
  /// The complete version of the model that the store was written with, so that a store describes itself.
  public let modelVersion: ModelVersion
  /// The data hash of the entities that the store holds.
  public let dataHash: String
  /// The hash of the version's indexes and unique constraints.
  public let layoutHash: String
  /// The hash of the complete version, with everything that has an effect.
  public let definitionHash: String
  /// The data hashes of the version's entities, by name.
  public let entityHashes: [String: String]
  /// The app's own values. See ``PersistentStoreCoordinator/setMetadata(_:forStore:)``.
  public let values: [String: String]

  /// - Parameter url: The URL that errors show.
  @_optimize(none)
  init(_ metadata: StoreMetadata, url: URL) throws {
    storeID = metadata.storeID
    formatVersion = metadata.formatVersion
    modelID = metadata.modelID
    modelName = metadata.modelName
    versionNumber = metadata.versionNumber
    dataHash = metadata.dataHash
    layoutHash = metadata.layoutHash
    definitionHash = metadata.definitionHash
    values = metadata.values
    do {
      modelVersion = try ModelVersion(canonicalJSON: metadata.version)
    } catch {
      throw StoreError.damagedMetadata(url, key: "version")
    }
    guard case .object(let members)? = try? JSONValue(parsing: metadata.entityHashes) else {
      throw StoreError.damagedMetadata(url, key: "entityHashes")
    }
    entityHashes = Dictionary(
      members.compactMap { member in
        if case .string(let hash) = member.value { return (member.key, hash) }
        return nil
      }, uniquingKeysWith: { first, _ in first })
  }
}

extension PersistentStoreMetadata {
  /// The model of the store's version. You can open the store with it if you have no other model.
  public var managedObjectModel: ManagedObjectModel {
    ManagedObjectModel(
      name: modelName, id: modelID, versions: [modelVersion], currentVersionNumber: modelVersion.number)
  }
}

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension PersistentStoreCoordinator {
  /// Copies a store into a new store of any format. The copy has the same UUID and the same keys, so identifiers and
  /// their URIs also lead to the copy's objects. The copy's history has the newest 1,000 saves.
  ///
  /// Make a replica if both stores will be changed. A replica has its own UUID. Its objects have the same
  /// ``GlobalObjectID`` as in the original, and its new objects get global identifiers that no object of the original ever
  /// has. Identifiers and URIs of the original's objects lead to no object of the replica. A ``HistoryToken`` of the
  /// original cannot be used for the replica.
  ///
  /// ```swift
  /// try PersistentStoreCoordinator.copyPersistentStore(
  ///   at: url, to: .xml(url.appendingPathExtension("xml")))
  /// ```
  ///
  /// - Parameters:
  ///   - url: The store's file.
  ///   - location: The location and the format of the copy.
  ///   - formats: The app's own formats, if the store may have one of them.
  ///   - isReplica: Whether the copy is a replica. If not, the copy stands for the original, as a backup does.
  /// - Throws: ``StoreError``, for example if there already is a file at the location. Nothing has been created then.
  @_optimize(none)
  public static func copyPersistentStore(
    at url: URL, to location: StoreLocation, formats: [any StoreFormat] = [],
    asReplica isReplica: Bool = false
  ) throws {
    let url = try Disk.resolvingLink(url)
    let location = try location.resolvingLink()
    guard let target = location.url else {
      throw StoreError.cannotCreate(url, reason: "a copy in memory would be lost at once; choose a file")
    }
    if let found = FileIdentity(target.path(percentEncoded: false)) {
      throw found == FileIdentity(url.path(percentEncoded: false))
        ? StoreError.openedTwice(target)
        : StoreError.cannotCreate(target, reason: "the file already exists; it was not changed")
    }
    try ClosedStoreCopy(url: url, formats: formats, isReplica: isReplica).write(to: target, location.format)
  }
}

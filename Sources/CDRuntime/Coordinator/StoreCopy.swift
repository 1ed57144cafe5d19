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
  /// - Throws: ``StoreError``, for example if there already is a file at the location, or if a file with a large value is
  ///   missing. Nothing has been created then.
  public static func copyPersistentStore(
    at url: URL, to location: StoreLocation, formats: [any StoreFormat] = [],
    asReplica isReplica: Bool = false
  ) throws {
    try copy(
      ClosedStoreCopy(url: Disk.resolvingLink(url), formats: formats, isReplica: isReplica), to: location)
  }

  /// Copies a store at any location, such as a server, into a new store: see
  /// ``copyPersistentStore(at:to:formats:asReplica:)``.
  ///
  /// ```swift
  /// let (file, copy) = (StoreLocation.sqlite(url), StoreLocation.binary(url.appendingPathExtension("bin")))
  /// try PersistentStoreCoordinator.copyPersistentStore(at: file, to: copy)
  /// ```
  ///
  /// - Parameters:
  ///   - source: The location of the store.
  ///   - location: The location of the copy.
  ///   - isReplica: Whether the copy is a replica. If not, the copy stands for the original, as a backup does.
  /// - Throws: ``StoreError``, for example if there already is a store at the location, or if a file with a large value is
  ///   missing. Nothing has been created then.
  public static func copyPersistentStore(
    at source: StoreLocation, to location: StoreLocation, asReplica isReplica: Bool = false
  ) throws {
    if case .engine(let engine) = source {
      let transfer = try engine.requiredTransfer
      try copy(
        ClosedStoreCopy(url: engine.url, formats: [], isReplica: isReplica, transfer: transfer), to: location)
      return
    }
    guard let url = source.url else {
      throw StoreError.notSupported("the copy of a store in memory without its coordinator")
    }
    try copyPersistentStore(at: url, to: location, formats: source.ownFormats, asReplica: isReplica)
  }

  @_optimize(none)
  private static func copy(_ copy: ClosedStoreCopy, to location: StoreLocation) throws {
    if case .engine(let engine) = location { return try copy.write(to: engine.requiredTransfer) }
    let url = copy.url
    let location = try location.resolvingLink()
    guard let target = location.url else {
      throw StoreError.cannotCreate(url, reason: "a copy in memory would be lost at once; choose a file")
    }
    if let found = FileIdentity(target.path(percentEncoded: false)) {
      throw found == FileIdentity(url.path(percentEncoded: false))
        ? StoreError.openedTwice(target) : ClosedStoreCopy.exists(target)
    }
    try copy.write(to: target, location.format)
  }
}

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The values of `external:` attributes for the copy of a store.
final class CopiedValues {
  private let source: ExternalFiles
  private let target: ExternalFiles
  /// Called with the name of each file before the copy receives the file.
  private let willAdd: (String) throws(StoreError) -> Void
  /// The names of the files that the copy has received.
  private var addedFiles: [String] = []

  /// - Parameters:
  ///   - source: The store to copy.
  ///   - target: The copy.
  ///   - willAdd: Called with the name of each file before the copy receives the file.
  init(from source: URL, to target: URL, willAdd: @escaping (String) throws(StoreError) -> Void) {
    self.source = ExternalFiles(store: source)
    self.target = ExternalFiles(store: target)
    self.willAdd = willAdd
  }

  /// Returns a value in the form in which the copy's row contains it. Writes data that is too large for a row to a new
  /// file. Adds a file of the store to the copy.
  func placed(_ value: StoreValue) throws(StoreError) -> StoreValue {
    switch value {
    case .bytes(let data) where data.count > ExternalFiles.largestInlineSize:
      let name = UUID.random().uuidString
      try willAdd(name)
      try target.write(data, name: name)
      addedFiles.append(name)
      return .text(name)
    case .text(let name):
      try addFile(name)
      return value
    default: return value
    }
  }

  /// Makes the names of the copy's files permanent on the disk. Call this before the copy's rows become final.
  func sync() throws(StoreError) {
    if !addedFiles.isEmpty { try target.syncFolder() }
  }

  /// Adds a file of the store to the copy.
  ///
  /// - Throws: ``StoreError``, also if the store does not have the file. A copy without the file would look complete.
  func addFile(_ name: String) throws(StoreError) {
    if try target.copyFile(name, from: source, willAdd: willAdd) { addedFiles.append(name) }
  }

  /// Removes the files of an unfinished copy.
  func discard() { target.removeAll(addedFiles) }
}

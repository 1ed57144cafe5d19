#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The values of `external:` attributes on their way from a store into its copy.
final class CopiedValues {
  private let source: ExternalFiles
  private let target: ExternalFiles
  /// The files that the copy has got.
  private var taken: [String] = []

  /// - Parameters:
  ///   - source: The store that is copied.
  ///   - target: The copy.
  init(from source: URL, to target: URL) {
    self.source = ExternalFiles(store: source)
    self.target = ExternalFiles(store: target)
  }

  /// A value as a row of the copy has it: what is too large for a row goes into a file, and a file of the store is one of
  /// the copy too.
  func placed(_ value: StoreValue) throws(StoreError) -> StoreValue {
    switch value {
    case .bytes(let data) where data.count > ExternalFiles.largestInlineSize:
      let name = UUID.random().uuidString
      try target.write(data, name: name)
      taken.append(name)
      return .text(name)
    case .text(let name):
      try take(name)
      return value
    default: return value
    }
  }

  /// Makes the names of the copy's files stay, to be called before its rows have their place.
  func sync() throws(StoreError) {
    if !taken.isEmpty { try target.syncFolder() }
  }

  /// Gives the copy one of the store's files; one that is missing is missing in the copy.
  func take(_ name: String) throws(StoreError) {
    if try target.take(name, from: source) { taken.append(name) }
  }

  /// Removes the files of a copy that is not made after all.
  func discard() { target.removeAll(taken) }
}

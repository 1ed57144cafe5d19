#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The values of `external:` attributes on their way from a store into its copy.
struct CopiedValues {
  let source: ExternalFiles
  let target: ExternalFiles

  /// A value as a row of the copy has it: what is too large for a row goes into a file, and a file of the store is one of
  /// the copy too.
  func placed(_ value: StoreValue) throws(StoreError) -> StoreValue {
    switch value {
    case .bytes(let data) where data.count > ExternalFiles.largestInlineSize:
      let name = UUID().uuidString
      try target.write(data, name: name)
      return .text(name)
    case .text(let name):
      try take(name)
      return value
    default: return value
    }
  }

  /// Makes the names of the copy's files stay, to be called before its rows have their place.
  func sync() throws(StoreError) {
    if FileManager.default.fileExists(atPath: target.folder.path(percentEncoded: false)) {
      try target.syncFolder()
    }
  }

  /// Gives the copy one of the store's files. These are never changed, so that both may have it; one that is missing is
  /// missing in the copy.
  func take(_ name: String) throws(StoreError) {
    guard source.exists(name), !target.exists(name) else { return }
    let (old, new) = (source.folder.appending(path: name), target.folder.appending(path: name))
    do {
      try FileManager.default.createDirectory(at: target.folder, withIntermediateDirectories: true)
    } catch { throw .externalData(target.folder, reason: "\(error)") }
    if link(old.path(percentEncoded: false), new.path(percentEncoded: false)) == 0 { return }
    // On another disk.
    do { try target.write(Data(contentsOf: old, options: .mappedIfSafe), name: name) } catch let error
      as StoreError
    {
      throw error
    } catch { throw .externalData(old, reason: "\(error)") }
  }
}

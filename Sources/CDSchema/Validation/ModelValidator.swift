import CDModel

/// Checks what needs more than one element: names, references, inheritance, bases.
struct ModelValidator {
  let head: DecodedModelFile?
  let versions: [DecodedVersion]
  /// Versions whose files are there and could not be read.
  let unreadable: Set<Int>
  let positions: ElementPositions
  let diagnostics: DiagnosticCollector

  /// The versions with their bases filled in, and the number of the current one if there is one.
  func validate() -> (versions: [ModelVersion], current: Int?) {
    let numbers = Set(versions.map(\.version.number)).union(unreadable)
    var result: [ModelVersion] = []
    for decoded in versions {
      var version = decoded.version
      if !decoded.hasBases, let before = numbers.filter({ $0 < version.number }).max() {
        version.basedOn = [before]
      }
      result.append(version)
    }
    return (result, head?.current ?? numbers.max())
  }
}

import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The files of large values that a step leaves without a row.
extension MigrationSession {
  /// Lists the files that columns of the step's source refer to, to be removed as those of deleted objects are.
  ///
  /// - Parameter schema: The database that becomes the store.
  func listFiles(of columns: [FileColumn], in schema: String, at time: Date) throws {
    let time = AttributeValue.double(time.timeIntervalSinceReferenceDate)
    for column in columns {
      try run(
        "INSERT OR IGNORE INTO \(raw: schema)._cdgen_files (name, time) SELECT name, \(bind: time) FROM (\(raw: column.fileNames()))"
      )
    }
  }

  /// Takes from the list what the new version's columns refer to: a step may have copied a name.
  func keepFiles(of columns: [FileColumn], in schema: String) throws {
    for column in columns {
      try execute("DELETE FROM \(schema)._cdgen_files WHERE name IN (\(column.fileNames(in: schema)))")
    }
  }
}

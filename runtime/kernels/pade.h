// Numbers of the exponential of a matrix (Higham, "The scaling and squaring method for the matrix exponential
// revisited", 2005): coefficients of the Padé approximant of order 13, and the norms up to which approximants are exact
// to the last bit: of f64 that of order 13, of f32 that of order 7.
#pragma once

namespace shard::runtime {

inline constexpr double kPade13[] = {64764752532480000.,
                                     32382376266240000.,
                                     7771770303897600.,
                                     1187353796428800.,
                                     129060195264000.,
                                     10559470521600.,
                                     670442572800.,
                                     33522128640.,
                                     1323241920.,
                                     40840800.,
                                     960960.,
                                     16380.,
                                     182.,
                                     1.};
inline constexpr double kPadeBoundF64 = 5.371920351148152, kPadeBoundF32 = 3.925724783138660;

}  // namespace shard::runtime
